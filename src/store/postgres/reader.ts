import { limits } from '../../limits.ts';
import { commandOn } from '../command-text.ts';
import { StoreOpenError } from '../errors.ts';
import { type PostgresLocation, postgresText } from '../location.ts';
import { countPlants, countPlantsAfter, getPlant, plantOf } from '../plant-rows.ts';
import { searchesIn } from '../plant-search.ts';
import type { CopiedPlant, PlantSnapshot } from '../plants.ts';
import { reads } from '../small-tables.ts';
import { callsOf } from '../steps.ts';
import type { StoreReader } from '../store.ts';
import type { Connector } from './connector.ts';
import { storeError } from './errors.ts';
import { byId, conditionsOf, newestFirst, plantWindow, rowPage } from './plant-rows.ts';
import { type Pool, within } from './pool.ts';
import { refuseHiddenSchema, versionOf } from './schema.ts';
import { runSteps } from './steps.ts';
import { type Query, snapshot } from './transaction.ts';

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

/** A read transaction on its own connection. @throws StoreError */
export async function openPostgresSnapshot(connector: Connector): Promise<PlantSnapshot> {
  const connection = await connector.connect();
  const run = <T>(work: (query: Query) => Promise<T>) =>
    within(connection, connector.callMs, work).catch((error) => {
      throw storeError(error);
    });
  try {
    // The first read takes the snapshot. A slow reader may pause between two pages.
    await run(async (query) => {
      await query.begin(snapshot);
      await query('SELECT 1 FROM plants LIMIT 1');
    });
  } catch (error) {
    connection.destroy();
    throw error;
  }
  return {
    countPlants: () => run((query) => runSteps(query, countPlants())),
    pages: () => pagesOf(run),
    [Symbol.asyncDispose]: async () => connection.destroy(),
  };
}

async function* pagesOf(
  run: <T>(work: (query: Query) => Promise<T>) => Promise<T>,
): AsyncGenerator<readonly CopiedPlant[]> {
  const { snapshotPagePlants, snapshotPageChars } = limits.store;
  let after: bigint | undefined;
  for (;;) {
    const next = [['id > ?', after]] as const;
    const { rows, isLast } = await run((query) =>
      rowPage(query, 'id', next, snapshotPagePlants, snapshotPageChars),
    );
    if (rows.length > 0) yield rows.map(plantOf);
    if (isLast) return;
    after = rows.at(-1)?.[0];
  }
}
