import { DatabaseSync } from 'node:sqlite';
import { makeFile, syncFile } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import { StoreError } from '../errors.ts';
import type { OnProgress } from '../inspection.ts';
import { openForReading } from './database.ts';
import { withStoreErrors } from './errors.ts';
import { migrate, pragma, schemaVersion } from './schema.ts';

/*
 * An increment has the tables of a store, and only those plants and rows of the journal that a full
 * backup, its base, lacks. Plants are never changed or removed, so base and increment together are
 * the store.
 */

/** All other tables of a store, which an increment has whole. Litestream keeps tables of its own. */
function smallTables(db: DatabaseSync): string[] {
  const tables = db.prepare(
    `SELECT name FROM sqlite_schema WHERE type = 'table'
      AND name NOT IN ('plants', 'arrivals') AND name NOT GLOB '_litestream_*'`,
  );
  return tables.all().map(({ name }) => name as string);
}

type Seq = bigint;

/**
 * Counts the plants that the journal of the store adds to a base.
 *
 * @param madeAtMs start of the base
 * @returns undefined if the journal does not tell: the base is of another store, or a service of an
 * earlier version may have stored plants after the base
 * @throws StoreOpenError, StoreError
 */
export function countPlantsSince(
  storePath: string,
  base: string,
  madeAtMs: number,
): number | undefined {
  using store = openForReading(storePath);
  return withStoreErrors(() => {
    store.exec('BEGIN');
    if (!isJournalWhole(store, madeAtMs)) return undefined;
    const end = journalEnd(base, store);
    if (end === undefined) return undefined;
    const count = store.prepare('SELECT sum(length(ids)) / 8 AS n FROM arrivals WHERE seq > ?');
    return Number(count.get(end)?.['n'] ?? 0);
  });
}

/** Whether every plant that was stored after `madeAtMs` is in the journal. */
function isJournalWhole(store: DatabaseSync, madeAtMs: number): boolean {
  if (pragma(store, 'user_version') < schemaVersion) return false;
  const first = store.prepare('SELECT created_at, ids FROM arrivals ORDER BY seq LIMIT 1').get();
  if (first === undefined || (first['ids'] as Uint8Array).length > 0) return true;
  return madeAtMs - (first['created_at'] as number) > limits.backup.handoverMs;
}

/** The last row of the base's journal, if the store's journal has the same row. */
function journalEnd(base: string, store: DatabaseSync): Seq | undefined {
  using db = new DatabaseSync(base, { readOnly: true });
  if (pragma(db, 'user_version') < schemaVersion) return undefined;
  const last = db.prepare('SELECT * FROM arrivals ORDER BY seq DESC LIMIT 1');
  last.setReadBigInts(true);
  const row = last.get();
  if (row === undefined) return undefined;
  const same = store.prepare('SELECT 1 FROM arrivals WHERE (seq, created_at, ids) = (?, ?, ?)');
  const [seq, createdAt, ids] = [row['seq'] as Seq, row['created_at'] as bigint, row['ids']];
  return same.get(seq, createdAt, ids as Uint8Array) && seq;
}

/**
 * Writes the increment of a store at one moment into a new file, while services write, and compares
 * the increment with the store row by row. The file is durable and plain, as `backUp` makes it.
 *
 * @throws StoreOpenError; StoreError; errors of SQLite and the file system
 */
export function copyIncrement(
  storePath: string,
  base: string,
  copyPath: string,
  onProgress: OnProgress,
): void {
  {
    using store = openForReading(storePath);
    store.exec('BEGIN');
    const end = journalEnd(base, store);
    if (end === undefined)
      throw new StoreError('unavailable', `the store does not continue the backup ${base}`);
    makeFile(copyPath, 0o600);
    const plants = writeIncrement(store, end, copyPath, onProgress);
    onProgress('comparing the copy with the store');
    if (countSamePlants(store, copyPath) !== plants)
      throw new StoreError('defect', 'the copy does not hold the new plants of the store');
  }
  // Not before SQLite has closed the file: closing it here would take the locks of SQLite with it.
  syncFile(copyPath);
}

/** @returns the number of plants */
function writeIncrement(
  store: DatabaseSync,
  end: Seq,
  copyPath: string,
  onProgress: OnProgress,
): number {
  using copy = new DatabaseSync(copyPath);
  // A failed copy is thrown away, and a whole copy is synced.
  copy.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN');
  migrate(copy, 0);
  for (const table of smallTables(copy)) copyRows(store, copy, table);
  const plantOf = store.prepare('SELECT * FROM plants WHERE id = ?');
  plantOf.setReadBigInts(true);
  let plants = 0;
  let insertPlant: Insert | undefined;
  copyRows(store, copy, 'arrivals', `WHERE seq > ${end} ORDER BY seq`, ({ ids }) => {
    for (const id of idsIn(ids as Uint8Array)) {
      const plant = plantOf.get(id);
      if (plant === undefined)
        throw new StoreError(
          'defect',
          `the journal of the store names the plant ${id}, which the store lacks`,
        );
      insertPlant ??= insertInto(copy, 'plants', Object.keys(plant));
      insertPlant(plant);
      plants += 1;
    }
    onProgress(`copying: ${plants} new plants`);
  });
  copy.exec('COMMIT');
  return plants;
}

type Row = Record<string, unknown>;
type Insert = (row: Row) => void;

function copyRows(
  from: DatabaseSync,
  to: DatabaseSync,
  table: string,
  which = '',
  onRow: (row: Row) => void = () => undefined,
): void {
  const select = from.prepare(`SELECT * FROM ${table} ${which}`);
  select.setReadBigInts(true);
  let insert: Insert | undefined;
  for (const row of select.iterate()) {
    insert ??= insertInto(to, table, Object.keys(row));
    insert(row);
    onRow(row);
  }
}

function insertInto(db: DatabaseSync, table: string, columns: readonly string[]): Insert {
  const places = columns.map(() => '?').join(', ');
  const insert = db.prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places})`);
  insert.setReadBigInts(true);
  return (row) => void insert.run(...(Object.values(row) as bigint[]));
}

/** A copy, because the bytes of a row may begin at any address. */
function idsIn(bytes: Uint8Array): BigInt64Array {
  return new BigInt64Array(new Uint8Array(bytes).buffer);
}

function countSamePlants(store: DatabaseSync, copyPath: string): number {
  store.prepare('ATTACH ? AS copy').run(copyPath);
  const count = store.prepare(`
    SELECT count(*) AS n FROM copy.plants AS c JOIN main.plants AS s USING (id)
    WHERE (s.name, s.tag, s.created_at, s.created_by) IS (c.name, c.tag, c.created_at, c.created_by)`);
  return Number(count.get()?.['n']);
}

/**
 * Makes a copy of the base the store again, durably.
 *
 * @throws StoreError if the increment is of another base; errors of SQLite
 */
export function addIncrement(basePath: string, increment: string): void {
  {
    using db = new DatabaseSync(basePath);
    db.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF');
    db.prepare('ATTACH ? AS added').run(increment);
    db.exec('BEGIN');
    const tables = smallTables(db);
    for (const table of tables) db.exec(`DELETE FROM main.${table}`);
    for (const table of [...tables, 'arrivals', 'plants'])
      db.exec(`INSERT INTO main.${table} SELECT * FROM added.${table}`);
    db.exec('COMMIT');
  }
  syncFile(basePath);
}
