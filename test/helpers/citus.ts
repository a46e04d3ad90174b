import { nameOfDatabase, type PostgresServer, startPostgres } from './postgres.ts';
import { makeStore } from './postgres-connection.ts';
import type { Owner } from './program.ts';

/** A coordinator and three workers. */
export interface Citus {
  readonly coordinator: PostgresServer;
  readonly workers: readonly PostgresServer[];
  /** A new and empty database on all of them; the coordinator knows the first two workers. */
  makeDatabase(): Promise<string>;
  /** A new store whose plants are on the first two workers. @returns its URL, as the page has it */
  makeStore(): Promise<string>;
}

const settings = {
  shared_preload_libraries: 'citus',
  wal_level: 'logical',
  // Citus takes one for each database, and some while shards move.
  max_worker_processes: '32',
  'citus.node_conninfo': 'sslmode=disable',
  'citus.shard_count': '6',
  'citus.recover_2pc_interval': '1s',
};

/** Undefined if the PostgreSQL of the tests has no Citus. */
export async function startCitus(owner: Owner): Promise<Citus | undefined> {
  const plain = await startPostgres(owner);
  const found = "SELECT FROM pg_available_extensions WHERE name = 'citus'";
  if ((await plain.query(found)).length === 0) return undefined;
  const start = () => startPostgres(owner, settings);
  const [coordinator, ...workers] = await Promise.all([start(), start(), start(), start()]);

  async function makeDatabase(): Promise<string> {
    const url = await coordinator.makeDatabase();
    for (const worker of workers) await worker.query(`CREATE DATABASE ${nameOfDatabase(url)}`);
    for (const server of [coordinator, ...workers])
      await server.query('CREATE EXTENSION citus', url);
    const query = (text: string) => coordinator.query(text, url);
    await query(`SELECT citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`);
    for (const { port } of workers.slice(0, 2))
      await query(`SELECT citus_add_node('127.0.0.1', ${port})`);
    return `${url}?options=-ccitus.max_cached_conns_per_worker%3D16`;
  }

  return {
    coordinator,
    workers,
    makeDatabase,
    async makeStore() {
      const url = await makeDatabase();
      await makeStore(url);
      await coordinator.query("SELECT create_distributed_table('plants', 'id')", url);
      return url;
    },
  };
}
