import type { DatabaseSync } from 'node:sqlite';
import { limits } from '../../limits.ts';
import type { CopiedPlant, PlantSnapshot } from '../plants.ts';
import { openForReading } from './database.ts';
import { storeError, withStoreErrors } from './errors.ts';
import { countPlants } from './plant-rows.ts';

/** A read transaction on its own connection. @throws StoreOpenError, errors of SQLite */
export function openSqliteSnapshot(path: string): PlantSnapshot {
  const db = openForReading(path);
  // The transaction starts with its first read.
  db.exec('BEGIN; SELECT 1 FROM sqlite_schema');
  return {
    countPlants: async () => withStoreErrors(() => countPlants(db)),
    pages: () => pages(db),
    [Symbol.asyncDispose]: async () => db.close(),
  };
}

type Row = [id: bigint, name: string, tag: string | null, createdAtMs: bigint, createdBy: bigint];

/** Rows are arrays, and come in pages: otherwise this is the slowest step of an export. */
async function* pages(db: DatabaseSync): AsyncGenerator<readonly CopiedPlant[]> {
  const select = db.prepare('SELECT id, name, tag, created_at, created_by FROM plants ORDER BY id');
  select.setReadBigInts(true);
  select.setReturnArrays(true);
  let page: CopiedPlant[] = [];
  let chars = 0;
  try {
    for (const row of select.iterate()) {
      const [id, name, tag, createdAtMs, createdBy] = row as unknown as Row;
      page.push({
        id,
        name,
        tag: tag ?? undefined,
        createdAtMs: Number(createdAtMs),
        createdBy: Number(createdBy),
      });
      chars += 1 + name.length + (tag?.length ?? 0);
      if (chars < limits.store.snapshotPageChars && page.length < limits.store.snapshotPagePlants)
        continue;
      yield page;
      page = [];
      chars = 0;
    }
  } catch (error) {
    throw storeError(error);
  }
  if (page.length > 0) yield page;
}
