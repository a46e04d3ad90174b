/** What is compared with what: every fact about a target stands here. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** What stores in PostgreSQL. */
export type PostgresTargetName = 'fastify' | 'prepared' | 'postgres' | 'nodes';
export type TargetName =
  | 'noop'
  | 'engine'
  | 'service'
  | 'threads1'
  | 'threads2'
  | 'full'
  | 'normal';

export interface Target {
  label: string;
  /** Whether what was answered with 200 is still there after a power failure. */
  isDurable: boolean;
  /** How it stores. */
  durability: string;
  /** Whether it is only measured under full load, to show how the service scales. */
  isForScaling?: boolean;
  /** How many processes share the store and the load; one unless said otherwise. */
  nodes?: number;
  /**
   * How much of a core's time each process has at most; all that there is unless said otherwise.
   */
  coreShare?: number;
  /** The arguments for node; the store's file does not exist yet, and its database is empty. */
  command(storePath: string): string[];
  /**
   * How many plants the stopped target's store holds; null for a target that stores nothing, or
   * stores in a database.
   */
  countStored: ((storePath: string) => number) | null;
}

const serviceMain = join(import.meta.dirname, '../bin/plant-store.js');
const peerMain = join(import.meta.dirname, 'peers/fastify-better-sqlite3.ts');

export const targets: Record<TargetName, Target> = {
  noop: {
    label: 'node:http, no store',
    isDurable: false,
    durability: 'stores nothing',
    command: () => [join(import.meta.dirname, 'targets/noop.ts')],
    countStored: null,
  },
  engine: {
    label: 'plant-store HTTP, no store',
    isDurable: false,
    durability: 'stores nothing',
    command: () => [join(import.meta.dirname, 'targets/engine.ts')],
    countStored: null,
  },
  service: service('plant-store', []),
  threads1: {
    ...service('plant-store, 1 HTTP thread', ['--http-threads', '1']),
    isForScaling: true,
  },
  threads2: {
    ...service('plant-store, 2 HTTP threads', ['--http-threads', '2']),
    isForScaling: true,
  },
  full: {
    label: 'Fastify + better-sqlite3, FULL',
    isDurable: true,
    durability: 'durable: WAL, synchronous=FULL, one commit a request',
    command: (storePath) => [peerMain, storePath, 'FULL'],
    countStored: countWithSqlite,
  },
  normal: {
    label: 'Fastify + better-sqlite3, NORMAL',
    isDurable: false,
    durability: 'NOT durable: WAL, synchronous=NORMAL, one commit a request',
    command: (storePath) => [peerMain, storePath, 'NORMAL'],
    countStored: countWithSqlite,
  },
};

/** Their stores are URLs of databases, which the database itself counts. */
export const postgresTargets: Record<PostgresTargetName, Target> = {
  fastify: fastifyOnPostgres('Fastify + pg', []),
  prepared: fastifyOnPostgres('Fastify + pg, prepared', ['--prepared']),
  postgres: onPostgres('plant-store, PostgreSQL'),
  nodes: { ...onPostgres('plant-store, PostgreSQL, 2 nodes'), nodes: 2 },
};

/** In the pictures. */
export const targetColors: Record<TargetName, string> = {
  noop: '#8a94a0',
  engine: '#b9c2cc',
  service: '#17804d',
  threads1: '#7fc29f',
  threads2: '#4aa377',
  full: '#3b6fb6',
  normal: '#c07a1e',
};

/** Not compared: it shows how much load the generator can make. */
export const rawResponder: Target = {
  label: 'raw responder',
  isDurable: false,
  durability: 'stores nothing',
  command: () => [join(import.meta.dirname, 'targets/raw-responder.ts')],
  countStored: null,
};

function service(label: string, flags: string[]): Target {
  return {
    label,
    isDurable: true,
    durability: 'durable: WAL, synchronous=FULL, one commit for all creates that wait',
    command: (storePath) => serve(`sqlite:${storePath}`, flags),
    countStored: countWithCommandLine,
  };
}

function onPostgres(label: string): Target {
  return {
    label,
    isDurable: true,
    durability: 'durable: synchronous_commit=on, one statement for all creates that wait',
    command: (url) => serve(url, []),
    countStored: null,
  };
}

function fastifyOnPostgres(label: string, flags: string[]): Target {
  return {
    label,
    isDurable: true,
    durability: 'durable: synchronous_commit=on, one INSERT a request over a pool of 20',
    command: (url) => [join(import.meta.dirname, 'peers/fastify-pg.ts'), url, ...flags],
    countStored: null,
  };
}

function serve(store: string, flags: string[]): string[] {
  return [
    serviceMain,
    'serve',
    '--store',
    store,
    '--host',
    '127.0.0.1',
    '--port',
    '0',
    '--ops-port',
    '0',
    ...flags,
  ];
}

function countWithCommandLine(storePath: string): number {
  const args = [serviceMain, 'plants', 'count', '--store', `sqlite:${storePath}`];
  return Number(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

function countWithSqlite(storePath: string): number {
  const store = new DatabaseSync(storePath, { readOnly: true });
  const row = store.prepare('SELECT count(*) AS plants FROM plants').get();
  store.close();
  return Number(row?.['plants']);
}
