import { limits } from '../../limits.ts';
import type { CopiedPlant, PlantSnapshot } from '../plants.ts';
import { openForReading } from './database.ts';
import { withStoreErrors } from './errors.ts';
import { countPlants } from './plant-rows.ts';
import type { ReadFile } from './read-file.ts';

/** A read transaction on its own connection. @throws StoreOpenError, errors of SQLite */
export function openSqliteSnapshot(path: string): PlantSnapshot {
  const file = openForReading(path);
  const { db } = file;
  // The transaction starts with its first read.
  db.exec('BEGIN; SELECT 1 FROM sqlite_schema');
  return {
    countPlants: async () => withStoreErrors(() => file.read(countPlants)),
    pages: () => pages(file),
    [Symbol.asyncDispose]: async () => db.close(),
  };
}

type Row = [id: bigint, name: string, tag: string | null, createdAtMs: bigint, createdBy: bigint];

/** Rows are arrays, and come in pages: otherwise this is the slowest step of an export. */
async function* pages({ db, read }: ReadFile): AsyncGenerator<readonly CopiedPlant[]> {
  const select = db.prepare('SELECT id, name, tag, created_at, created_by FROM plants ORDER BY id');
  select.setReadBigInts(true);
  select.setReturnArrays(true);
  const rows = select.iterate();
  for (;;) {
    const page = withStoreErrors(() => read(() => nextPage(rows)));
    if (page.length === 0) return;
    yield page;
  }
}

function nextPage(rows: Iterator<unknown>): CopiedPlant[] {
  const page: CopiedPlant[] = [];
  let chars = 0;
  while (chars < limits.store.snapshotPageChars && page.length < limits.store.snapshotPagePlants) {
    const row = rows.next();
    if (row.done) break;
    const [id, name, tag, createdAtMs, createdBy] = row.value as Row;
    page.push({
      id,
      name,
      tag: tag ?? undefined,
      createdAtMs: Number(createdAtMs),
      createdBy: Number(createdBy),
    });
    chars += 1 + name.length + (tag?.length ?? 0);
  }
  return page;
}
