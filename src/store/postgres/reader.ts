import { commandOn } from '../command-text.ts';
import { StoreOpenError } from '../errors.ts';
import { type PostgresLocation, postgresText } from '../location.ts';
import { countPlantsAfter, getPlant } from '../plant-rows.ts';
import { searchesIn } from '../plant-search.ts';
import { reads } from '../small-tables.ts';
import { callsOf } from '../steps.ts';
import type { StoreReader } from '../store.ts';
import type { Connector } from './connector.ts';
import { byId, conditionsOf, newestFirst, plantWindow } from './plant-rows.ts';
import type { Pool } from './pool.ts';
import { refuseHiddenSchema, versionOf } from './schema.ts';
import { openPostgresSnapshot } from './snapshot.ts';
import { runSteps } from './steps.ts';
import type { Query } from './transaction.ts';

export function readerOn(
  location: PostgresLocation,
  connector: Connector,
  pool: Pool,
): StoreReader {
  const read = <T>(work: (query: Query) => Promise<T>) => pool.run(work);
  const close = async () => pool.close();
  return {
    location: postgresText(location),
    getPlant: (id) => read((query) => runSteps(query, getPlant(id))),
    ...searchesIn({
      windowAfter: (...window) => read((query) => plantWindow(query, byId, ...window)),
      windowBefore: (...window) => read((query) => plantWindow(query, newestFirst, ...window)),
      countAfter: (place, plantsMax, match) =>
        read(async (query) => {
          const conditions = await conditionsOf(query, match);
          return runSteps(query, countPlantsAfter(place, plantsMax, conditions));
        }),
    }),
    openSnapshot: () => openPostgresSnapshot(connector),
    ...callsOf(reads, (begin) => read((query) => runSteps(query, begin()))),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** @returns the version of the schema. @throws StoreOpenError if there is no store */
export async function demandStore(query: Query, location: PostgresLocation): Promise<number> {
  const version = await versionOf(query);
  if (version > 0) return version;
  await refuseHiddenSchema(query);
  throw new StoreOpenError(
    `there is no store in ${postgresText(location)}; name the store with --store or ` +
      'PLANT_STORE_STORE, or make one there with ' +
      `${commandOn(postgresText(location), 'serve')}`,
  );
}
