import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { isHere, withGoCache } from './compilers.ts';
import { pause } from './pause.ts';
import type { Owner } from './program.ts';

const version = 'v0.5.18';
const root = join(import.meta.dirname, '../..');

/** The program; `whyNoLitestream` builds it. */
export const litestreamProgram = join(
  root,
  `node_modules/.cache/plant-store-litestream-${version}/litestream`,
);

/**
 * Builds Litestream from the modules of the Go proxy, once. The first build on a machine
 * takes two minutes.
 *
 * @returns the reason if Litestream cannot be built
 */
export function whyNoLitestream(): string | undefined {
  if (existsSync(litestreamProgram)) return undefined;
  if (!isHere('go')) return 'there is no go, which builds Litestream';
  const kept = dirname(litestreamProgram);
  mkdirSync(kept, { recursive: true });
  // Two processes can build at a time.
  const folder = mkdtempSync(join(kept, 'build-'));
  const args = ['install', `github.com/benbjohnson/litestream/cmd/litestream@${version}`];
  // CI has an empty home, and Go keeps its modules in the home.
  const env = { ...withGoCache, HOME: userInfo().homedir, GOBIN: folder };
  const { status, stderr } = spawnSync('go', args, { env, encoding: 'utf8' });
  if (status === 0) renameSync(join(folder, 'litestream'), litestreamProgram);
  rmSync(folder, { recursive: true });
  return status === 0 ? undefined : `Litestream cannot be built: ${stderr.slice(-500)}`;
}

export interface ReplicatedStore {
  readonly store: string;
  /** The folder of the replica. */
  readonly replica: string;
}

/** The variables of `litestreamYml`. */
function litestreamVariables({ store, replica }: ReplicatedStore) {
  return { LITESTREAM_STORE: store, LITESTREAM_REPLICA: `file://${replica}` };
}

/** The configuration that the packages have. */
export const litestreamYml = join(root, 'packaging/litestream.yml');

export interface Litestream {
  /** Resolves when everything that is in the store now is in the replica. */
  inSync(): Promise<void>;
  /** Sends the signal, and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

const inSyncMs = 60_000;

/** Starts `litestream replicate`. The store may be missing still. */
export function startLitestream(owner: Owner, replicated: ReplicatedStore): Litestream {
  const folder = mkdtempSync(`${replicated.replica}.run-`);
  const socket = join(folder, 'socket');
  const config = join(folder, 'litestream.yml');
  // Only a Litestream with a socket says when the replica is complete.
  const withSocket = `\nsocket:\n  enabled: true\n  path: ${socket}\n`;
  writeFileSync(config, readFileSync(litestreamYml, 'utf8') + withSocket);
  const child = spawn(litestreamProgram, ['replicate', '-config', config], {
    env: { ...process.env, ...litestreamVariables(replicated) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exit = once(child, 'close');
  owner.after(() => child.kill('SIGKILL'));
  let log = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (log += text));
  return {
    async inSync() {
      const signal = AbortSignal.timeout(inSyncMs);
      while (!(await isInSync(socket, replicated))) {
        assert.equal(child.exitCode ?? child.signalCode, null, log);
        await pause(signal);
      }
    },
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      await exit;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Waits until the replica is complete. False before Litestream has a socket, store and replica. */
function isInSync(socket: string, { store }: ReplicatedStore): Promise<boolean> {
  const args = ['sync', '-wait', '-socket', socket, store];
  return promisify(execFile)(litestreamProgram, args).then(
    () => true,
    () => false,
  );
}

/** Writes the store of the replica to a new file. */
export async function restoreReplica(replicated: ReplicatedStore, path: string): Promise<void> {
  const args = ['restore', '-config', litestreamYml, '-o', path, replicated.store];
  const env = { ...process.env, ...litestreamVariables(replicated) };
  await promisify(execFile)(litestreamProgram, args, { env });
}
