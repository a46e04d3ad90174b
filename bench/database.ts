/** A PostgreSQL server of the benchmark's own, on the disk of the other stores. */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { type PostgresServer, startPostgres } from '../test/helpers/postgres.ts';
import type { IdKind } from './ids.ts';
import type { LoadedStore } from './target-run.ts';

/** Usual for a server of this size. By default fsync and synchronous_commit are on. */
export const serverSettings = { shared_buffers: '256MB', max_wal_size: '2GB' };

/** Starts the server for `use`, and stops it, also when the benchmark is interrupted. */
export async function withServer<T>(
  directory: string,
  use: (server: PostgresServer) => Promise<T>,
): Promise<T> {
  const cleanups: (() => unknown)[] = [];
  const owner = { after: (cleanup: () => unknown) => cleanups.push(cleanup) };
  // TCP alone: the path of a socket in this folder may be too long.
  const settings = { ...serverSettings, unix_socket_directories: '' };
  const server = await startPostgres(owner, settings, mkdtempSync(join(directory, 'postgres-')));
  const killAtExit = () => void server.kill();
  process.prependOnceListener('exit', killAtExit);
  const result = await use(server);
  process.off('exit', killAtExit);
  for (const cleanup of cleanups) await cleanup();
  return result;
}

/**
 * Makes an empty database for `use`.
 *
 * @throws Error unless the database then holds exactly the acknowledged plants
 */
export async function withFreshDatabase<T>(
  server: PostgresServer,
  ids: IdKind,
  use: (store: LoadedStore) => Promise<T>,
): Promise<T & { plantsPerCommit: number }> {
  const path = await server.makeDatabase();
  const store: LoadedStore = { path, ids, plants: 0, databasePid: server.pid };
  const name = new URL(path).pathname.slice(1);
  // So that this target does not pay for the writes of the target before.
  await server.query('CHECKPOINT');
  const result = await use(store);
  await verifyPlants(server, name, store.plants);
  const plantsPerCommit = store.plants / (await commits(server, name));
  await server.query(`DROP DATABASE ${name}`);
  return { ...result, plantsPerCommit };
}

async function verifyPlants(server: PostgresServer, name: string, plants: number): Promise<void> {
  const [row] = await server.query('SELECT count(*)::int AS plants FROM plants', name);
  const stored = row?.['plants'];
  if (stored !== plants)
    throw new Error(`acknowledged ${plants} creates, but the database holds ${stored} plants`);
}

/** All transactions of the database. Few of a service's transactions store no plants. */
async function commits(server: PostgresServer, name: string): Promise<number> {
  const [row] = await server.query(
    `SELECT xact_commit::int AS commits FROM pg_stat_database WHERE datname = '${name}'`,
  );
  return Number(row?.['commits']);
}
