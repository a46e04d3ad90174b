import type { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { limits } from '../../limits.ts';
import {
  countMatches,
  type IdWindows,
  type PlantRange,
  searchNewest,
  searchPlants,
} from '../plant-search.ts';
import type { PlantFilter, StoredPlant } from '../plants.ts';
import { reads } from '../small-tables.ts';
import { callsOf, stepsOf } from '../steps.ts';
import type { StoreReader } from '../store.ts';
import { demandNewest, openForReading } from './database.ts';
import { withStoreErrors } from './errors.ts';
import { newestWindow } from './newest.ts';
import { addFoldCase, countPlantsAfter, outcomesOf, plantPage } from './plant-rows.ts';
import { pragma } from './schema.ts';
import { openSqliteSnapshot } from './snapshot.ts';
import { runSteps } from './steps.ts';

/** Reads on a connection of the calling thread. In WAL mode, readers and the writer do not wait. */
export function openSqliteReader(path: string): StoreReader {
  const file = openForReading(path);
  const { db } = file;
  addFoldCase(db);
  const read = <T>(work: (db: DatabaseSync) => T) => withStoreErrors(() => file.read(work));
  const close = async () => file[Symbol.dispose]();
  const pageOf = (filter: PlantRange) => read(() => plantPage(db, filter));
  const countAfter: IdWindows['countAfter'] = (...window) =>
    read(() => countPlantsAfter(db, ...window));
  return {
    location: `sqlite:${path}`,
    getPlant: async (id) => pageOf({ limit: 1, id }).plants[0],
    listPlants: (filter) => listPlants(filter, { countAfter, pageOf }),
    searchPlants: (search) => searchPlants(search, { countAfter, pageOf }),
    newestPlants: async (search) => {
      read(() => demandNewest(pragma(db, 'user_version'), path));
      return searchNewest(search, (...window) => read(() => newestWindow(db, ...window)));
    },
    countMatches: (count) => countMatches(count, countAfter),
    outcomesOf: async (plants) => read(() => outcomesOf(db, plants)),
    openSnapshot: async () => read(() => openSqliteSnapshot(path)),
    ...callsOf(reads, async (call) => read((db) => runSteps(db, stepsOf(reads, call)))),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * Each step is a read of its own: one long read would keep the WAL from being reset. Plants are
 * never changed or removed, so every plant that exists at the start is listed, once.
 */
async function* listPlants(
  { limit, ...filter }: PlantFilter,
  windows: IdWindows,
): AsyncGenerator<StoredPlant> {
  let { after } = filter;
  for (let left = limit; left > 0; ) {
    // A signal waits for a turn of the event loop.
    await setImmediate();
    const budgetMs = limits.store.listStepMs;
    const { plants, next } = await searchPlants(
      { ...filter, after, limit: left, budgetMs },
      windows,
    );
    yield* plants;
    if (next === undefined) return;
    after = next;
    left -= plants.length;
  }
}
