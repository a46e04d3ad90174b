/** All facts about the programs that are compared. */
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeJwts, makeOpaqueTokens, type Prepared } from './tokens.ts';

export type PostgresTargetName = 'fastify' | 'postgres' | 'nodes';
export type TargetName =
  | 'noop'
  | 'engine'
  | 'service'
  | 'tls'
  | 'tokens'
  | 'jwt'
  | 'full'
  | 'normal';

export interface Target {
  label: string;
  /** Whether a plant that was answered with 200 survives a power failure. */
  isDurable: boolean;
  durability: string;
  /** Measured under full load only, to show how the service scales. */
  isForScaling?: boolean;
  /** Clients speak TLS. */
  isEncrypted?: boolean;
  /** Times the warm-up of the settings. Default: 1. */
  warmups?: number;
  /** Makes what the target and the clients need, before the target starts. */
  prepare?(storePath: string): Promise<Prepared>;
  /** Processes that share the store and the load. Default: 1. */
  nodes?: number;
  /** Limit of each process, in cores. Default: none. */
  coreShare?: number;
  /**
   * The arguments for node.
   *
   * @param store path of a file that may not exist yet, or URL of a database
   */
  command(store: string): string[];
  /** Counts the plants after a stop. Missing if the target stores nothing or in a database. */
  countStored?(storePath: string): number;
}

export const program = file('../bin/plant-store.js');

/** Each thread sees each token for the first time, and verifies it. */
const tokensWarmups = 2;

const storesNothing = { isDurable: false, durability: 'stores nothing' };

export const targets: Record<TargetName, Target> = {
  noop: {
    ...storesNothing,
    label: 'node:http, no store',
    command: () => [file('targets/noop.ts')],
  },
  engine: {
    ...storesNothing,
    label: 'plant-store HTTP, no store',
    command: () => [file('targets/engine.ts')],
  },
  service: service('plant-store', []),
  tls: {
    ...service('plant-store, TLS', []),
    isForScaling: true,
    isEncrypted: true,
    command: (storePath) => serve(`sqlite:${storePath}`, makeCertificate(dirname(storePath))),
  },
  tokens: {
    ...service('plant-store, 1,000 tokens', []),
    isForScaling: true,
    prepare: (storePath) => makeOpaqueTokens(storePath),
    warmups: tokensWarmups,
  },
  jwt: {
    ...service('plant-store, 1,000 JWTs', []),
    isForScaling: true,
    prepare: makeJwts,
    warmups: tokensWarmups,
  },
  full: { ...fastifyOnSqlite('FULL', 'durable'), isDurable: true },
  normal: { ...fastifyOnSqlite('NORMAL', 'NOT durable'), isDurable: false },
};

/** Their stores are URLs of databases. `withFreshDatabase` counts the plants. */
export const postgresTargets: Record<PostgresTargetName, Target> = {
  fastify: fastifyOnPostgres(),
  postgres: onPostgres('plant-store, PostgreSQL'),
  nodes: { ...onPostgres('plant-store, PostgreSQL, 2 nodes'), nodes: 2 },
};

/** The colors of the plots. */
export const targetColors: Record<TargetName, string> = {
  noop: '#8a94a0',
  engine: '#b9c2cc',
  service: '#17804d',
  tls: '#8c5fa8',
  tokens: '#a8894a',
  jwt: '#c06a6a',
  full: '#3b6fb6',
  normal: '#c07a1e',
};

/** Shows how much load the generator can make. It is not compared. */
export const rawResponder: Target = {
  ...storesNothing,
  label: 'raw responder',
  command: () => [file('targets/raw-responder.ts')],
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
  };
}

function fastifyOnSqlite(synchronous: string, durability: string): Omit<Target, 'isDurable'> {
  return {
    label: `Fastify + better-sqlite3, ${synchronous}`,
    durability: `${durability}: WAL, synchronous=${synchronous}, one commit a request`,
    command: (storePath) => [file('peers/fastify-better-sqlite3.ts'), storePath, synchronous],
    countStored: countWithSqlite,
  };
}

function fastifyOnPostgres(): Target {
  return {
    label: 'Fastify + pg',
    isDurable: true,
    durability: 'durable: synchronous_commit=on, one INSERT a request over a pool of 20',
    command: (url) => [file('peers/fastify-pg.ts'), url],
  };
}

function serve(store: string, flags: string[]): string[] {
  const listeners = ['--host', '127.0.0.1', '--port', '0', '--ops-port', '0'];
  return [program, 'serve', '--store', store, ...listeners, ...flags];
}

/** Makes a certificate in the folder. @returns the flags for it */
function makeCertificate(folder: string): string[] {
  const [certificate, key] = [join(folder, 'tls.pem'), join(folder, 'tls.key')];
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const files = ['-keyout', key, '-out', certificate];
  execFileSync('openssl', ['req', '-x509', '-subj', '/CN=localhost', ...newKey, ...files], {
    stdio: 'ignore',
  });
  return ['--tls-certificate', certificate, '--tls-key', key];
}

function countWithCommandLine(storePath: string): number {
  const args = [program, 'plants', 'count', '--store', `sqlite:${storePath}`];
  return Number(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

function countWithSqlite(storePath: string): number {
  const store = new DatabaseSync(storePath, { readOnly: true });
  const row = store.prepare('SELECT count(*) AS plants FROM plants').get();
  store.close();
  return Number(row?.['plants']);
}

function file(path: string): string {
  return join(import.meta.dirname, path);
}
