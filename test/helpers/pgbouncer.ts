import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { freePort } from './free-port.ts';
import { type Owner, temporaryFolder } from './program.ts';
import { skipVisibly } from './skips.ts';

export function lacksPgBouncer(t: TestContext): boolean {
  if (spawnSync('pgbouncer', ['--version']).status === 0) return false;
  skipVisibly(t, 'PgBouncer is not installed');
  return true;
}

const nobody = 65_534;

export interface PgBouncer {
  /** Of the database behind it. */
  readonly url: string;
  start(): Promise<void>;
  /** Resolves at its end. */
  kill(): Promise<void>;
}

/**
 * Starts a PgBouncer that lends its connections for one transaction at a time. All clients of a
 * database have one connection between them, so that each gets what another one has left.
 */
export async function startPgBouncer(owner: Owner, url: string): Promise<PgBouncer> {
  const folder = await temporaryFolder(owner);
  const [{ port, pathname }, ownPort] = [new URL(url), await freePort()];
  const config = join(folder, 'pgbouncer.ini');
  writeFileSync(
    config,
    `[databases]
* = host=127.0.0.1 port=${port} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${ownPort}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 1
ignore_startup_parameters = options
server_login_retry = 1
server_connect_timeout = 2
`,
  );
  chmodSync(folder, 0o755);
  // It does not run as root.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(config, nobody, nobody);
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    const started = spawn('pgbouncer', [...(isRoot ? ['-u', 'nobody'] : []), config], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child = started;
    let printed = '';
    started.stderr.setEncoding('utf8').on('data', (chunk: string) => (printed += chunk));
    while (!printed.includes('process up')) {
      await Promise.race([once(started.stderr, 'data'), once(started, 'exit')]);
      if (started.exitCode !== null) throw new Error(printed);
    }
  }

  async function kill(): Promise<void> {
    if (child?.kill('SIGKILL')) await once(child, 'exit');
  }

  owner.after(kill);
  await start();
  return { url: `postgres://postgres@127.0.0.1:${ownPort}${pathname}`, start, kill };
}
