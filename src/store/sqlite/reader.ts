import type { DatabaseSync } from 'node:sqlite';
import {
  countMatches,
  type IdWindows,
  listPlants,
  type PlantRange,
  searchNewest,
  searchPlants,
} from '../plant-search.ts';
import { reads } from '../small-tables.ts';
import { callsOf, stepsOf } from '../steps.ts';
import type { StoreReader } from '../store.ts';
import { demandNewestFile, openForReading } from './database.ts';
import { withStoreErrors } from './errors.ts';
import { newestWindow } from './newest.ts';
import { addFoldCase, countPlantsAfter, plantPage } from './plant-rows.ts';
import type { ReadFile } from './read-file.ts';
import { pragma } from './schema.ts';
import { openSqliteSnapshot } from './snapshot.ts';
import { runSteps } from './steps.ts';

/** Reads on a connection of the calling thread. In WAL mode, readers and writers do not wait. */
export function openSqliteReader(path: string): StoreReader {
  const file = openForReading(path);
  const close = async () => file[Symbol.dispose]();
  return { ...readerOn(path, file), close, [Symbol.asyncDispose]: close };
}

/** Reads on an open connection, which the caller closes. */
export function readerOn(
  path: string,
  file: Pick<ReadFile, 'db' | 'read'>,
): Omit<StoreReader, 'close' | typeof Symbol.asyncDispose> {
  const { db } = file;
  addFoldCase(db);
  const read = <T>(work: (db: DatabaseSync) => T) => withStoreErrors(() => file.read(work));
  const pageOf = (filter: PlantRange) => read(() => plantPage(db, filter));
  const windows: IdWindows = {
    countAfter: (...window) => read(() => countPlantsAfter(db, ...window)),
    pageOf,
  };
  return {
    location: `sqlite:${path}`,
    getPlant: async (id) => pageOf({ limit: 1, id }).plants[0],
    listPlants: (filter) => listPlants(filter, windows),
    searchPlants: (search) => searchPlants(search, windows),
    newestPlants: async (search) => {
      read(() => demandNewestFile(pragma(db, 'user_version'), path));
      return searchNewest(search, (...window) => read(() => newestWindow(db, ...window)));
    },
    countMatches: (count) => countMatches(count, windows.countAfter),
    openSnapshot: async () => read(() => openSqliteSnapshot(path)),
    ...callsOf(reads, async (call) => read((db) => runSteps(db, stepsOf(reads, call)))),
  };
}
