import { limits } from '../../limits.ts';
import { countPlants, type PlantRow, plantColumns, plantOf } from '../plant-rows.ts';
import type { CopiedPlant, PlantSnapshot } from '../plants.ts';
import { openForReading } from './database.ts';
import { withStoreErrors } from './errors.ts';
import { charsOf, rowsOf } from './plant-rows.ts';
import type { ReadFile } from './read-file.ts';
import { runSteps } from './steps.ts';

/** A read transaction on its own connection. @throws StoreOpenError, errors of SQLite */
export function openSqliteSnapshot(path: string): PlantSnapshot {
  const file = openForReading(path);
  const { db } = file;
  // The transaction starts with its first read.
  db.exec('BEGIN; SELECT 1 FROM sqlite_schema');
  return {
    countPlants: async () => withStoreErrors(() => file.read(() => runSteps(db, countPlants()))),
    pages: () => pagesOf(file),
    [Symbol.asyncDispose]: async () => db.close(),
  };
}

/** Plants come in pages: otherwise this is the slowest step of an export. */
export async function* pagesOf({ db, read }: ReadFile): AsyncGenerator<readonly CopiedPlant[]> {
  const text = `SELECT ${plantColumns} FROM plants ORDER BY id`;
  const rows = rowsOf<PlantRow>(db, { text, values: [] })[Symbol.iterator]();
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
