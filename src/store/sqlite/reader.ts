import { resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { limits } from '../../limits.ts';
import {
  allOf,
  countPlantsAfter,
  getPlant,
  type PlantRow,
  plantColumns,
  plantOf,
  snapshotReads,
  timeConditions,
} from '../plant-rows.ts';
import { searchesIn } from '../plant-search.ts';
import type { CopiedPlant, PlantSnapshot } from '../plants.ts';
import { schemaVersion } from '../schema-version.ts';
import type { StoreReader } from '../store.ts';
import { readIdentity, type StoreIdentity } from '../tables/identity.ts';
import { callsOf, type Steps, sql } from '../tables/steps.ts';
import { reads } from '../tables/tables.ts';
import { demandNewestFile, openForReading } from './database.ts';
import { withStoreErrors } from './errors.ts';
import {
  addFoldCase,
  charsOf,
  conditionsOf,
  eachRow,
  windowAfter,
  windowBefore,
} from './plant-rows.ts';
import type { ReadFile } from './read-file.ts';
import { pragma } from './schema.ts';
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
    url: `sqlite:${resolve(path)}`,
    identity: async () => read(identityIn),
    ...searchesIn({
      windowAfter: (...window) => read(() => windowAfter(db, ...window)),
      windowBefore(...window) {
        const version = read(() => pragma(db, 'user_version'));
        demandNewestFile(version, path);
        return read(() => windowBefore(db, ...window));
      },
      countAfter: (after, plantsMax, match) =>
        read(() => runSteps(db, countPlantsAfter(after, plantsMax, conditionsOf(db, match)))),
    }),
    openSnapshot: async () => read(() => openSqliteSnapshot(path)),
    ...callsOf({ ...reads, getPlant }, async (begin) => read((db) => runSteps(db, begin()))),
  };
}

/** Undefined for a store of an earlier schema. */
export function identityIn(db: DatabaseSync): StoreIdentity | undefined {
  return pragma(db, 'user_version') < schemaVersion ? undefined : runSteps(db, readIdentity());
}

/** A read transaction on its own connection. @throws StoreOpenError, errors of SQLite */
function openSqliteSnapshot(path: string): PlantSnapshot {
  const file = openForReading(path);
  const { db } = file;
  // The transaction starts with its first read.
  db.exec('BEGIN; SELECT 1 FROM sqlite_schema');
  const read = <T>(steps: Steps<T>) => withStoreErrors(() => file.read(() => runSteps(db, steps)));
  return {
    ...callsOf(snapshotReads, async (begin) => read(begin())),
    pages: (sinceMs) => pagesOf(file, sinceMs),
    [Symbol.asyncDispose]: async () => db.close(),
  };
}

/** Plants come in pages: otherwise this is the slowest step of an export. */
export async function* pagesOf(
  { db, read }: ReadFile,
  sinceMs?: number,
): AsyncGenerator<readonly CopiedPlant[]> {
  const since = allOf(timeConditions({ sinceMs }));
  const select = sql`SELECT ${plantColumns} FROM plants WHERE ${since} ORDER BY id`;
  const rows = eachRow<PlantRow>(db, select)[Symbol.iterator]();
  for (;;) {
    const page = withStoreErrors(() => read(() => nextPage(rows)));
    if (page.length === 0) return;
    yield page;
  }
}

function nextPage(rows: Iterator<PlantRow>): CopiedPlant[] {
  const page: CopiedPlant[] = [];
  let chars = 0;
  while (chars < limits.store.snapshotPageChars && page.length < limits.store.snapshotPagePlants) {
    const row = rows.next();
    if (row.done) break;
    page.push(plantOf(row.value));
    chars += charsOf(row.value);
  }
  return page;
}
