import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { freePort } from './free-port.ts';
import { type Owner, temporaryFolder } from './program.ts';
import { skipVisibly } from './skips.ts';

export type PoolerName = 'pgbouncer' | 'pgcat';

export interface PoolerSettings {
  readonly mode?: 'transaction' | 'statement';
  readonly connections?: number;
  /** How many prepared statements the pooler keeps; 0 keeps none. */
  readonly prepared?: number;
  /** Parameters of a login that PgBouncer drops. */
  readonly ignored?: string;
}

/** Such as 1.18; undefined if it is not installed. */
export function versionOf(pooler: PoolerName): string | undefined {
  const { status, stdout } = spawnSync(pooler, ['--version'], { encoding: 'utf8' });
  return status === 0 ? /\d+\.\d+/.exec(stdout)?.[0] : undefined;
}

export function lacksPgBouncer(t: TestContext): boolean {
  if (versionOf('pgbouncer') !== undefined) return false;
  skipVisibly(t, 'PgBouncer is not installed');
  return true;
}

const nobody = 65_534;

export interface Pooler {
  /** Of the database behind it. */
  readonly url: string;
  start(): Promise<void>;
  /** Resolves at its end. */
  kill(): Promise<void>;
}

/**
 * Starts a pooler in front of the database. By default, all clients have one connection between
 * them for one transaction at a time, so that each gets what another one has left.
 */
export async function startPooler(
  owner: Owner,
  program: PoolerName,
  url: string,
  settings: PoolerSettings = {},
): Promise<Pooler> {
  const folder = await temporaryFolder(owner);
  const [{ port, pathname }, ownPort] = [new URL(url), await freePort()];
  const { format, isUp, user } = programs[program];
  const config = join(folder, 'config');
  writeFileSync(config, format(Number(port), ownPort, pathname.slice(1), settings));
  chmodSync(folder, 0o755);
  // PgBouncer does not run as root.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(config, nobody, nobody);
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    const started = spawn(program, [...(isRoot ? user : []), config]);
    child = started;
    let printed = '';
    const outputs = [started.stdout, started.stderr];
    for (const output of outputs)
      output.setEncoding('utf8').on('data', (chunk: string) => (printed += chunk));
    while (!printed.includes(isUp)) {
      await Promise.race([...outputs.map((output) => once(output, 'data')), once(started, 'exit')]);
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

type Format = (port: number, ownPort: number, database: string, settings: PoolerSettings) => string;

const programs: Readonly<Record<PoolerName, { format: Format; isUp: string; user: string[] }>> = {
  pgbouncer: {
    format: (
      port,
      ownPort,
      _,
      { mode = 'transaction', connections = 1, prepared, ignored },
    ) => `[databases]
* = host=127.0.0.1 port=${port} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${ownPort}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = ${connections}
ignore_startup_parameters = ${ignored ?? 'options'}
server_login_retry = 1
server_connect_timeout = 2
${prepared === undefined ? '' : `max_prepared_statements = ${prepared}`}
`,
    isUp: 'process up',
    user: ['-u', 'nobody'],
  },
  pgcat: {
    format: (port, ownPort, database, { connections = 1, prepared = 0 }) => `[general]
host = "127.0.0.1"
port = ${ownPort}
admin_username = "admin"
admin_password = "x"
ban_time = 1
[pools.${database}]
pool_mode = "transaction"
prepared_statements_cache_size = ${prepared}
[pools.${database}.users.0]
username = "postgres"
auth_type = "trust"
password = "x"
statement_timeout = 5000
pool_size = ${connections}
[pools.${database}.shards.0]
servers = [["127.0.0.1", ${port}, "primary"]]
database = "${database}"
`,
    isUp: 'Waiting for clients',
    user: [],
  },
};
