import { DatabaseSync } from 'node:sqlite';
import type { BackupRecord } from '../backups.ts';
import type { JobRecord } from '../jobs.ts';
import type { TokenRecord } from '../tokens.ts';
import { openForReading, openMs, setDurability } from './database.ts';
import { storeError } from './errors.ts';
import { lastBeat, listBackups, listJobs } from './reader.ts';
import { pragma } from './schema.ts';
import { isLive, isToken, tokenRecords } from './token-rows.ts';

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
  readonly backups: readonly BackupRecord[];
  readonly jobs: readonly JobRecord[];
  /** See `TokenReader.liveTokens`. */
  readonly liveTokens: readonly TokenRecord[];
  /** See `StoreReader.lastBeat`. */
  readonly lastBeatMs: number | undefined;
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
      backups: listBackups(reader),
      jobs: listJobs(reader),
      liveTokens: tokenRecords(reader, `WHERE ${isLive} AND ${isToken}`, Date.now()),
      lastBeatMs: lastBeat(reader),
    };
  } catch (error) {
    throw storeError(error);
  }
}

/** Reads the plant at one end of the table whole. */
function idAtEnd(db: DatabaseSync, order: 'ASC' | 'DESC'): bigint | undefined {
  const select = db.prepare(`SELECT * FROM plants ORDER BY id ${order} LIMIT 1`);
  select.setReadBigInts(true);
  return select.get()?.['id'] as bigint | undefined;
}
