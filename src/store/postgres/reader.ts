import { commandOn } from '../command-text.ts';
import { NoStoreError } from '../errors.ts';
import type { PostgresLocation } from '../location.ts';
import { countMatches, type IdWindows, searchNewest, searchPlants } from '../plant-search.ts';
import type { PlantFilter, StoredPlant } from '../plants.ts';
import { reads } from '../small-tables.ts';
import { callsOf, stepsOf } from '../steps.ts';
import type { StoreReader } from '../store.ts';
import type { Connector } from './connector.ts';
import { pagesByIdRange } from './id-ranges.ts';
import { postgresText } from './location.ts';
import { newestWindow } from './newest.ts';
import { countPlantsAfter, idEnds, plantPage } from './plant-rows.ts';
import { outcomesOf } from './plants.ts';
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
  const read: Read = (work) => pool.run(work, readMs);
  const countAfter = (...window: Parameters<IdWindows['countAfter']>) =>
    read((query) => countPlantsAfter(query, ...window));
  const close = async () => pool.close();
  return {
    location: postgresText(location),
    getPlant: (id) => read(async (query) => (await plantPage(query, { limit: 1, id })).plants[0]),
    listPlants: (filter) => listPlants(read, filter),
    searchPlants: (search) =>
      searchPlants(search, {
        countAfter,
        pageOf: (filter) => read((query) => plantPage(query, filter)),
      }),
    newestPlants: (search) =>
      searchNewest(search, (...window) => read((query) => newestWindow(query, ...window))),
    countMatches: (count) => countMatches(count, countAfter),
    outcomesOf: (plants) => read((query) => outcomesOf(query, plants)),
    openSnapshot: () => openPostgresSnapshot(connector, readMs),
    ...callsOf(reads, (call) => read((query) => runSteps(query, stepsOf(reads, call)))),
    close,
    [Symbol.asyncDispose]: close,
  };
}

type Read = <T>(work: (query: Query) => Promise<T>) => Promise<T>;

/** Lists every plant that exists at the start, once. */
async function* listPlants(read: Read, filter: PlantFilter): AsyncGenerator<StoredPlant> {
  let { limit } = filter;
  const ends = await read((query) => idEnds(query, filter.after));
  for await (const page of pagesByIdRange(ends, (range) =>
    read((query) => plantPage(query, { ...filter, ...range, limit })),
  )) {
    yield* page;
    limit -= page.length;
    if (limit === 0) return;
  }
}

/** @returns the version of the schema. @throws StoreOpenError if there is no store */
export async function demandStore(query: Query, location: PostgresLocation): Promise<number> {
  const version = await versionOf(query);
  if (version > 0) return version;
  await refuseHiddenSchema(query);
  throw new NoStoreError(
    `there is no store in ${postgresText(location)}; name the store with --store or PLANT_STORE_STORE, or make one there with ${commandOn(postgresText(location), 'serve')}`,
  );
}
