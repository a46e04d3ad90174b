/** All facts about the programs that are compared. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { programCommand } from '../src/program.ts';
import { builtFile, type PeerName } from './peers/build.ts';
import type { DialectName } from './plant.ts';

export interface Target {
  label: string;
  /** What a 200 means. */
  durability: string;
  /** Whether a plant that was answered with 200 survives a power failure. */
  isDurable: boolean;
  /** Built before it is measured. */
  peer?: PeerName;
  /** Default: `plants`. */
  dialect?: DialectName;
  /** It calls the kernel without the C library, so no preloaded library can delay its syncs. */
  hidesSyncs?: true;
  /**
   * Program and arguments.
   *
   * @param store path of a file that may not exist yet, or URL of a database
   */
  command(store: string): readonly string[];
  /** Counts the plants after a stop. Missing if the target stores nothing or in a database. */
  countStored?(storePath: string): number;
}

const onSqlite = {
  noop: {
    label: 'node:http, no store',
    durability: 'stores nothing',
    isDurable: false,
    command: () => node('targets/noop.ts'),
  },
  service: {
    label: 'plant-store',
    durability: 'durable: one sync for all creates that wait',
    isDurable: true,
    command: (storePath) => serve(`sqlite:${storePath}`),
    countStored: countWithCommandLine,
  },
  rust: builtPeer('rust', 'Rust: hyper + rusqlite'),
  go: builtPeer('go', 'Go: net/http + go-sqlite3'),
  full: fastifyOnSqlite('FULL'),
  normal: fastifyOnSqlite('NORMAL'),
  // Its default driver is SQLite in Go.
  pocketbase: { ...pocketbase('NORMAL', 'PocketBase as it comes'), hidesSyncs: true },
  pocketbaseFull: pocketbase('FULL', 'PocketBase, FULL'),
} satisfies Record<string, Target>;

export type TargetName = keyof typeof onSqlite;
export const targets: Record<TargetName, Target> = onSqlite;

/** Their stores are URLs of databases, which count the plants. */
export const postgresTargets = {
  fastify: {
    label: 'Fastify + pg',
    durability: 'durable: synchronous_commit=on, one INSERT a request over a pool of 20',
    isDurable: true,
    command: (url) => node('peers/fastify.ts', 'postgres', url),
  },
  postgres: {
    label: 'plant-store',
    durability: 'durable: synchronous_commit=on, one statement for all creates that wait',
    isDurable: true,
    command: serve,
  },
} satisfies Record<string, Target>;

function builtPeer(peer: PeerName, label: string): Target {
  return {
    label,
    durability: 'durable: WAL, synchronous=FULL, one commit for all creates that wait',
    isDurable: true,
    peer,
    command: (storePath) => [builtFile(peer), storePath],
    countStored: countWithSqlite,
  };
}

type Synchronous = 'FULL' | 'NORMAL';

function fastifyOnSqlite(synchronous: Synchronous): Target {
  return {
    label: `Fastify + better-sqlite3, ${synchronous}`,
    ...commitEach(synchronous),
    command: (storePath) => node('peers/fastify.ts', synchronous, storePath),
    countStored: countWithSqlite,
  };
}

function pocketbase(synchronous: Synchronous, label: string): Target {
  return {
    label,
    ...commitEach(synchronous),
    peer: 'pocketbase',
    dialect: 'pocketbase',
    command: (storePath) => [builtFile('pocketbase'), storePath, synchronous],
    countStored: countWithSqlite,
  };
}

function commitEach(synchronous: Synchronous): Pick<Target, 'isDurable' | 'durability'> {
  const isDurable = synchronous === 'FULL';
  const promise = isDurable ? 'durable' : 'NOT durable';
  return {
    isDurable,
    durability: `${promise}: WAL, synchronous=${synchronous}, one commit a request`,
  };
}

function serve(store: string): readonly string[] {
  const listeners = ['--host', '127.0.0.1', '--port', '0', '--ops-port', '0'];
  return [...programCommand, 'serve', '--store', store, ...listeners];
}

function node(script: string, ...args: string[]): readonly string[] {
  return [process.execPath, join(import.meta.dirname, script), ...args];
}

function countWithCommandLine(storePath: string): number {
  const [program, ...first] = programCommand;
  const args = [...first, 'plants', 'count', '--store', `sqlite:${storePath}`];
  return Number(execFileSync(program, args, { encoding: 'utf8' }));
}

function countWithSqlite(storePath: string): number {
  const store = new DatabaseSync(storePath, { readOnly: true });
  const row = store.prepare('SELECT count(*) AS plants FROM plants').get();
  store.close();
  return Number(row?.['plants']);
}
