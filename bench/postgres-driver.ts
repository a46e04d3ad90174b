/**
 * The driver alone: the service's statement over the service's number of connections, without HTTP.
 */
import { postgresLocation } from '../src/config/postgres-location.ts';
import { limits } from '../src/limits.ts';
import type { Connection } from '../src/store/postgres/connection.ts';
import { openConnector } from '../src/store/postgres/connector.ts';
import { insertSql, insertValues } from '../src/store/postgres/plants.ts';
import { queryOn } from '../src/store/postgres/transaction.ts';
import { openStore } from '../src/stores.ts';
import { idSequences } from './ids.ts';
import { plantsFrom } from './plant.ts';
import { cpuUsWithChildren } from './process-stats.ts';
import { difference, ratio } from './statistics.ts';
import type { LoadedStore } from './target-run.ts';

export interface DriverRun {
  batchPlants: number;
  plantsPerSecond: number;
  /** Of this process, which also makes the plants. */
  cpuUsPerPlant: number;
  databaseCpuUsPerPlant: number | null;
}

export async function driveDatabase(
  store: LoadedStore,
  batchPlants: number,
  times: { warmupMs: number; measureMs: number },
): Promise<DriverRun> {
  await makeTables(store.path);
  const connector = openConnector(postgresLocation(store.path, {}), limits.store.commitMs);
  const connecting = Array.from({ length: limits.postgres.batchesMax }, () => connector.connect());
  const connections = await Promise.all(connecting);
  await feed(connections, store, batchPlants, times.warmupMs);
  const start = readClocks(store);
  await feed(connections, store, batchPlants, times.measureMs);
  const end = readClocks(store);
  for (const connection of connections) connection.destroy();
  const plants = end.plants - start.plants;
  return {
    batchPlants,
    plantsPerSecond: (1000 * plants) / (end.ms - start.ms),
    cpuUsPerPlant: (end.cpuUs - start.cpuUs) / plants,
    databaseCpuUsPerPlant: ratio(difference(end.databaseUs, start.databaseUs), plants),
  };
}

async function makeTables(url: string): Promise<void> {
  const store = await openStore(postgresLocation(url, {}), limits.store.commitMs, false);
  await store.close();
}

async function feed(
  connections: Connection[],
  store: LoadedStore,
  batchPlants: number,
  durationMs: number,
): Promise<void> {
  const endMs = performance.now() + durationMs;
  let next = idSequences[store.ids].firstOrdinal + store.plants;
  const lanes = connections.map(async (connection) => {
    const query = queryOn(connection);
    while (performance.now() < endMs) {
      const plants = plantsFrom(store.ids, next, batchPlants);
      next += batchPlants;
      const { rowCount } = await query(insertSql, insertValues(plants, Date.now()));
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
