import { dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { shortOfSpace } from '../../disk/file-system.ts';
import { makeFile, syncFile } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import { StoreError } from '../errors.ts';
import type { OnProgress } from '../inspection.ts';
import { openForReading } from './database.ts';
import { pragma } from './schema.ts';

/**
 * Copies a store at one moment into a new file, while services write. The copy is durable, compared
 * with the store row by row, and one plain file: without WAL mode it can be read anywhere.
 *
 * One read transaction lasts for the whole copy: without it, the copy would start over with every
 * write of another process.
 *
 * @throws StoreOpenError; errors of SQLite and the file system, such as SQLITE_FULL and ENOSPC
 */
export async function backUp(
  storePath: string,
  copyPath: string,
  onProgress: OnProgress,
): Promise<void> {
  {
    using store = openForReading(storePath);
    store.exec('BEGIN');
    // The transaction starts with its first read.
    const bytes = pragma(store, 'page_count') * pragma(store, 'page_size');
    const tooFull = shortOfSpace(dirname(copyPath), bytes);
    if (tooFull !== undefined) throw new StoreError('unavailable', tooFull);
    makeFile(copyPath, 0o600);
    await backup(store, copyPath, {
      rate: limits.sqlite.backupStepPages,
      progress: ({ totalPages, remainingPages }) =>
        onProgress(`copying: ${Math.floor(100 - (100 * remainingPages) / totalPages)} %`),
    });
    leaveWalMode(copyPath);
    onProgress('comparing the copy with the store');
    if (!holdsSamePlants(store, copyPath))
      throw new StoreError('defect', 'the copy does not hold the same plants as the store');
  }
  // Not before SQLite has closed the file: closing it here would take the locks of SQLite with it.
  syncFile(copyPath);
}

/** Turns a closed store into one plain file without a WAL, on disk. */
export function sealBackup(path: string): void {
  leaveWalMode(path);
  syncFile(path);
}

function leaveWalMode(path: string): void {
  using db = new DatabaseSync(path);
  db.exec('PRAGMA journal_mode = DELETE');
}

/** Compares the plants that `store` sees now with those in another file, in every column. */
export function holdsSamePlants(store: DatabaseSync, copyPath: string): boolean {
  store.prepare('ATTACH ? AS copy').run(copyPath);
  const counts = store
    .prepare(`
      SELECT
        (SELECT count(*) FROM main.plants) AS stored,
        (SELECT count(*) FROM copy.plants) AS copied,
        (SELECT count(*) FROM main.plants AS s JOIN copy.plants AS c USING (id)
          WHERE (s.name, s.tag, s.created_at, s.created_by) IS (c.name, c.tag, c.created_at, c.created_by)) AS same`)
    .get();
  return counts?.['stored'] === counts?.['copied'] && counts?.['stored'] === counts?.['same'];
}
