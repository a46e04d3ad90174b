import { commandOn } from '../command-text.ts';
import { NoStoreError } from '../errors.ts';
import type { PostgresLocation } from '../location.ts';
import {
  countMatches,
  type IdWindows,
  listPlants,
  searchNewest,
  searchPlants,
} from '../plant-search.ts';
import { reads } from '../small-tables.ts';
import { callsOf, stepsOf } from '../steps.ts';
import type { StoreReader } from '../store.ts';
import type { Connector } from './connector.ts';
import { postgresText } from './location.ts';
import { newestWindow } from './newest.ts';
import { countPlantsAfter, plantPage } from './plant-rows.ts';
import type { Pool } from './pool.ts';
import { refuseHiddenSchema, versionOf } from './schema.ts';
import { openPostgresSnapshot } from './snapshot.ts';
import { runSteps } from './steps.ts';
import type { Query } from './transaction.ts';

/** @param readMs time for each query */
export function readerOn(
  location: PostgresLocation,
  connector: Connector,
  pool: Pool,
  readMs: number,
): StoreReader {
  const read = <T>(work: (query: Query) => Promise<T>) => pool.run(work, readMs);
  const windows: IdWindows = {
    countAfter: (...window) => read((query) => countPlantsAfter(query, ...window)),
    pageOf: (filter) => read((query) => plantPage(query, filter)),
  };
  const close = async () => pool.close();
  return {
    location: postgresText(location),
    getPlant: (id) => read(async (query) => (await plantPage(query, { limit: 1, id })).plants[0]),
    listPlants: (filter) => listPlants(filter, windows),
    searchPlants: (search) => searchPlants(search, windows),
    newestPlants: (search) =>
      searchNewest(search, (...window) => read((query) => newestWindow(query, ...window))),
    countMatches: (count) => countMatches(count, windows.countAfter),
    openSnapshot: () => openPostgresSnapshot(connector, readMs),
    ...callsOf(reads, (call) => read((query) => runSteps(query, stepsOf(reads, call)))),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** @returns the version of the schema. @throws StoreOpenError if there is no store */
export async function demandStore(query: Query, location: PostgresLocation): Promise<number> {
  const version = await versionOf(query);
  if (version > 0) return version;
  await refuseHiddenSchema(query);
  throw new NoStoreError(
    `there is no store in ${postgresText(location)}; name the store with --store or ` +
      'PLANT_STORE_STORE, or make one there with ' +
      `${commandOn(postgresText(location), 'serve')}`,
  );
}
