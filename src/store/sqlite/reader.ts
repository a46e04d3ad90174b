import type { DatabaseSync } from 'node:sqlite';
import {
  countMatches,
  listPlants,
  newestPlants,
  searchPlants,
  type WindowAt,
} from '../plant-search.ts';
import { reads } from '../small-tables.ts';
import { callsOf, stepsOf } from '../steps.ts';
import type { StoreReader } from '../store.ts';
import { demandNewestFile, openForReading } from './database.ts';
import { withStoreErrors } from './errors.ts';
import { windowBefore } from './newest.ts';
import { addFoldCase, countPlantsAfter, getPlant, windowAfter } from './plant-rows.ts';
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
  const after: WindowAt = (...window) => read(() => windowAfter(db, ...window));
  return {
    location: `sqlite:${path}`,
    getPlant: async (id) => read(() => getPlant(db, id)),
    listPlants: (filter) => listPlants(filter, after),
    searchPlants: (search) => searchPlants(search, after),
    newestPlants: async (search) => {
      read(() => demandNewestFile(pragma(db, 'user_version'), path));
      return newestPlants(search, (...window) => read(() => windowBefore(db, ...window)));
    },
    countMatches: (count) =>
      countMatches(count, (...window) => read(() => countPlantsAfter(db, ...window))),
    openSnapshot: async () => read(() => openSqliteSnapshot(path)),
    ...callsOf(reads, async (call) => read((db) => runSteps(db, stepsOf(reads, call)))),
    close,
    [Symbol.asyncDispose]: close,
  };
}
