/**
 * What the driver alone could store: the service's own statement over its own number of
 * connections, and nothing around it.
 */
import pg from 'pg';
import { postgresLocation } from '../src/config/postgres/location.ts';
import { limits } from '../src/limits.ts';
import { insertSql, insertValues } from '../src/store/postgres/plants.ts';
import { openStore } from '../src/stores.ts';
import { idSequences } from './ids.ts';
import { plantsFrom } from './plant.ts';
import { cpuUsWithChildren } from './process-stats.ts';
import type { LoadedStore } from './target-run.ts';

export interface DriverRun {
  batchPlants: number;
  plantsPerSecond: number;
  /** Of this process, which makes the plants, too. */
  cpuUsPerPlant: number;
  databaseCpuUsPerPlant: number | null;
}

export async function driveDatabase(
  store: LoadedStore,
  batchPlants: number,
  times: { warmupMs: number; measureMs: number },
): Promise<DriverRun> {
  const tables = await openStore(postgresLocation(store.path, {}), limits.store.commitMs, false);
  await tables.close();
  const clients = await Promise.all(
    Array.from({ length: limits.postgres.batchesMax }, () => connectTo(store.path)),
  );
  await feed(clients, store, batchPlants, times.warmupMs);
  const start = readClocks(store);
  await feed(clients, store, batchPlants, times.measureMs);
  const end = readClocks(store);
  await Promise.all(clients.map((client) => client.end()));
  const plants = end.plants - start.plants;
  return {
    batchPlants,
    plantsPerSecond: (1000 * plants) / (end.ms - start.ms),
    cpuUsPerPlant: (end.cpuUs - start.cpuUs) / plants,
    databaseCpuUsPerPlant:
      end.databaseUs === null || start.databaseUs === null
        ? null
        : (end.databaseUs - start.databaseUs) / plants,
  };
}

async function connectTo(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  return client;
}

async function feed(
  clients: pg.Client[],
  store: LoadedStore,
  batchPlants: number,
  durationMs: number,
): Promise<void> {
  const endMs = performance.now() + durationMs;
  let next = idSequences[store.ids].firstOrdinal + store.plants;
  const lanes = clients.map(async (client) => {
    while (performance.now() < endMs) {
      const plants = plantsFrom(store.ids, next, batchPlants);
      next += batchPlants;
      const { rowCount } = await client.query({
        name: 'insert',
        text: insertSql,
        values: insertValues(plants, Date.now()),
        rowMode: 'array',
      });
      store.plants += rowCount ?? 0;
    }
  });
  await Promise.all(lanes);
}

function readClocks({ plants, databasePid = 0 }: LoadedStore) {
  const { user, system } = process.cpuUsage();
  return {
    plants,
    ms: performance.now(),
    cpuUs: user + system,
    databaseUs: cpuUsWithChildren(databasePid),
  };
}
