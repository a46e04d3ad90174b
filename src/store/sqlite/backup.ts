import { fdatasyncSync } from 'node:fs';
import { dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { shortOfSpace } from '../../disk/file-system.ts';
import { makeFile, openFile, syncFile } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import type { FoundTriggers } from '../engine.ts';
import { StoreError } from '../errors.ts';
import type { OnProgress } from '../inspection.ts';
import { identityChanges } from '../tables/identity.ts';
import { openForReading } from './database.ts';
import { pragma, triggersIn } from './schema.ts';
import { runSteps } from './steps.ts';
import { upgradeSqlite } from './upgrade.ts';

/**
 * Copies a store at one moment into a new file, while services write. The copy is durable, and one
 * plain file: without WAL mode it can be read anywhere.
 *
 * One read transaction lasts for the whole copy: without it, the copy would start over with every
 * write of another process.
 *
 * @throws StoreOpenError; errors of SQLite and the file system, such as SQLITE_FULL and ENOSPC
 */
export async function backUp(storePath: string, copyPath: string, onProgress: OnProgress) {
  {
    using file = openForReading(storePath);
    const store = file.db;
    store.exec('BEGIN');
    // The transaction starts with its first read.
    const bytes = pragma(store, 'page_count') * pragma(store, 'page_size');
    const tooFull = shortOfSpace(dirname(copyPath), bytes);
    if (tooFull !== undefined) throw new StoreError('unavailable', tooFull);
    makeFile(copyPath);
    await copyPages(store, copyPath, onProgress);
    store.exec('COMMIT');
    file.demandUnchanged();
  }
  sealBackup(copyPath);
}

/**
 * Each step is synced, so that no sync of a service waits for a large one of the copy. The
 * descriptor stays open for as long as SQLite has the file open: closing it would take the locks of
 * SQLite.
 */
async function copyPages(store: DatabaseSync, copyPath: string, onProgress: OnProgress) {
  using copy = openFile(copyPath, 'r+');
  const pageBytes = pragma(store, 'page_size');
  await backup(store, copyPath, {
    rate: limits.sqlite.backupStepPages,
    progress({ totalPages, remainingPages }) {
      fdatasyncSync(copy.descriptor);
      onProgress('copying', {
        done: (totalPages - remainingPages) * pageBytes,
        total: totalPages * pageBytes,
        unit: 'bytes',
      });
    },
  });
}

/**
 * Notes the decision of a restore in its copy of the backup, which is upgraded for that. Drops and
 * returns the triggers on its tables, because no service starts on such a store.
 */
export async function noteRestore(
  path: string,
  atMs: number,
  digest: string,
): Promise<FoundTriggers | undefined> {
  const triggers = dropTriggers(path);
  await upgradeSqlite(path);
  {
    using db = new DatabaseSync(path);
    runSteps(db, identityChanges.noteDecision(atMs, digest));
  }
  sealBackup(path);
  return triggers;
}

function dropTriggers(path: string): FoundTriggers | undefined {
  using db = new DatabaseSync(path);
  const triggers = triggersIn(db, path);
  if (triggers) db.exec(triggers.drop);
  return triggers;
}

/** Turns a store that no connection has open into one plain file without a WAL, on disk. */
export function sealBackup(path: string): void {
  {
    using db = new DatabaseSync(path);
    db.exec('PRAGMA journal_mode = DELETE');
  }
  // Not before SQLite has closed the file: closing it here would take the locks of SQLite with it.
  syncFile(path);
}
