import type { DatabaseSync } from 'node:sqlite';
import { countPlantsAfter, getPlant } from '../plant-rows.ts';
import { searchesIn } from '../plant-search.ts';
import { reads } from '../small-tables.ts';
import { callsOf } from '../steps.ts';
import type { StoreReader } from '../store.ts';
import { demandNewestFile, openForReading } from './database.ts';
import { withStoreErrors } from './errors.ts';
import { windowBefore } from './newest.ts';
import { addFoldCase, conditionsOf, windowAfter } from './plant-rows.ts';
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
  return {
    location: `sqlite:${path}`,
    getPlant: async (id) => read(() => runSteps(db, getPlant(id))),
    ...searchesIn({
      windowAfter: (...window) => read(() => windowAfter(db, ...window)),
      windowBefore(...window) {
        const version = read(() => pragma(db, 'user_version'));
        demandNewestFile(version, path);
        return read(() => windowBefore(db, ...window));
      },
      countAfter: (place, plantsMax, match) =>
        read(() => runSteps(db, countPlantsAfter(place, plantsMax, conditionsOf(db, match)))),
    }),
    openSnapshot: async () => read(() => openSqliteSnapshot(path)),
    ...callsOf(reads, async (begin) => read((db) => runSteps(db, begin()))),
  };
}
