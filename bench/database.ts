/** A PostgreSQL server of the benchmark's own, where the other stores are, too. */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { type PostgresServer, startPostgres } from '../test/helpers/postgres.ts';
import type { IdKind } from './ids.ts';
import type { LoadedStore } from './target-run.ts';

/**
 * Those that a server of this size is given. All that a commit promises is as PostgreSQL has it by
 * default: fsync and synchronous_commit are on.
 */
export const serverSettings = { shared_buffers: '256MB', max_wal_size: '2GB' };

/** Starts the server for `use`, and ends it, also when the benchmark is broken off. */
export async function withServer<T>(
  directory: string,
  use: (server: PostgresServer) => Promise<T>,
): Promise<T> {
  const cleanups: (() => unknown)[] = [];
  const owner = { after: (cleanup: () => unknown) => cleanups.push(cleanup) };
  // A path that is too long for a socket is none of its business: it listens on TCP alone.
  const settings = { ...serverSettings, unix_socket_directories: '' };
  const server = await startPostgres(owner, settings, mkdtempSync(join(directory, 'postgres-')));
  const killAtExit = () => void server.kill();
  process.prependOnceListener('exit', killAtExit);
  const result = await use(server);
  process.off('exit', killAtExit);
  for (const cleanup of cleanups) await cleanup();
  return result;
}

/** An empty database for `use`, which must hold exactly what was acknowledged in the end. */
export async function withFreshDatabase<T>(
  server: PostgresServer,
  ids: IdKind,
  use: (store: LoadedStore) => Promise<T>,
): Promise<T & { plantsPerCommit: number }> {
  const store: LoadedStore = {
    path: await server.makeDatabase(),
    ids,
    plants: 0,
    databasePid: server.pid,
  };
  const name = new URL(store.path).pathname.slice(1);
  // What those before have left to be written is not to be paid for now.
  await server.query('CHECKPOINT');
  const result = await use(store);
  await verifyPlants(server, name, store.plants);
  const plantsPerCommit = store.plants / (await commits(server, name));
  await server.query(`DROP DATABASE ${name}`);
  return { ...result, plantsPerCommit };
}

async function verifyPlants(server: PostgresServer, name: string, plants: number): Promise<void> {
  const [row] = await server.query('SELECT count(*)::int AS plants FROM plants', name);
  if (row?.['plants'] !== plants)
    throw new Error(`acknowledged ${plants} creates, and the database holds ${row?.['plants']}`);
}

/** All transactions of the database so far; a service has few others than those with plants. */
async function commits(server: PostgresServer, name: string): Promise<number> {
  const [row] = await server.query(
    `SELECT xact_commit::int AS commits FROM pg_stat_database WHERE datname = '${name}'`,
  );
  return Number(row?.['commits']);
}
