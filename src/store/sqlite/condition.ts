import { DatabaseSync } from 'node:sqlite';
import type { BackupRecord } from '../backups.ts';
import { openForReading, openMs, setDurability } from './database.ts';
import { storeError } from './errors.ts';
import { lastBackup } from './reader.ts';
import { pragma } from './schema.ts';

/** What a file says of itself, for `doctor`. */
export interface FileCondition {
  readonly applicationId: number;
  readonly schemaVersion: number;
  readonly journalMode: string;
  /** As on the service's own connection for writing. */
  readonly synchronous: number;
  /** Least and greatest id; undefined if there are no plants. Both plants were read whole. */
  readonly firstId: bigint | undefined;
  readonly lastId: bigint | undefined;
  readonly lastBackup: BackupRecord | undefined;
}

/** Reads back what is in force. Nothing is changed. @throws StoreOpenError, StoreError */
export function conditionOfSqlite(path: string): FileCondition {
  // The reader outlives the writer, whose closing therefore does not checkpoint.
  using reader = openForReading(path);
  try {
    using writer = new DatabaseSync(path, { timeout: openMs });
    setDurability(writer);
    return {
      applicationId: pragma(reader, 'application_id'),
      schemaVersion: pragma(reader, 'user_version'),
      journalMode: String(writer.prepare('PRAGMA journal_mode').get()?.['journal_mode']),
      synchronous: pragma(writer, 'synchronous'),
      firstId: idAtEnd(reader, 'ASC'),
      lastId: idAtEnd(reader, 'DESC'),
      lastBackup: lastBackup(reader),
    };
  } catch (error) {
    throw storeError(error);
  }
}

/**
 * Fixes of the WAL-reset bug (sqlite.org/wal.html#walresetbug), also in later versions of each
 * line.
 */
const repairedIn = [
  [3, 44, 6],
  [3, 50, 7],
] as const;
const repairedSince = [3, 51, 3] as const;

/**
 * Whether this SQLite may damage a store that two connections write and checkpoint concurrently.
 */
export function hasWalResetBug(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  const isSince = ([sinceMajor, sinceMinor, sincePatch]: readonly [number, number, number]) =>
    major !== sinceMajor
      ? major > sinceMajor
      : minor !== sinceMinor
        ? minor > sinceMinor
        : patch >= sincePatch;
  return !isSince(repairedSince) && !repairedIn.some((line) => minor === line[1] && isSince(line));
}

/** Reads the plant at one end of the table whole. */
function idAtEnd(db: DatabaseSync, order: 'ASC' | 'DESC'): bigint | undefined {
  const select = db.prepare(`SELECT * FROM plants ORDER BY id ${order} LIMIT 1`);
  select.setReadBigInts(true);
  return select.get()?.['id'] as bigint | undefined;
}
