import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeFile, makeFolderDurably } from '../../files.ts';
import { StoreError, StoreOpenError } from '../store.ts';
import { SQLITE_BUSY, SQLITE_NOTADB, sqliteCode } from './errors.ts';

/** Marks the file as a plant store in its header: "Plnt". */
const applicationId = 0x506c6e74;
const schemaVersion = 1;

/** `created_at` and the like are milliseconds since the epoch. `created_by` is an id in tokens, or 0 for the fixed token. */
const schema = `
  CREATE TABLE plants (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    tag TEXT,
    created_at INTEGER NOT NULL,
    created_by INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE tokens (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE,
    role TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used_at INTEGER
  ) STRICT;
  CREATE UNIQUE INDEX tokens_name_in_force ON tokens (name) WHERE revoked_at IS NULL;
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${schemaVersion};
`;

/** How long opening waits for another process that is just making the store. */
const openMs = 5_000;

/** Makes the folder that the store is to be in. @throws StoreOpenError */
export function prepareSqliteFolder(path: string): void {
  opening(path, () => makeFolderDurably(dirname(path)));
}

/**
 * Opens the store for writing and makes it if there is none.
 *
 * @throws StoreOpenError if it cannot be written, is of a newer schema, or is not a store.
 */
export function openForWriting(path: string): DatabaseSync {
  return opening(path, () => {
    makeFolderDurably(dirname(path));
    // SQLite would let everybody read it. It gives the files beside it the same mode.
    if (!existsSync(path)) makeFile(path, 0o600);
    const db = new DatabaseSync(path, { timeout: openMs });
    if (!holdsStore(db, path)) {
      db.exec('PRAGMA journal_mode = WAL');
      inTransaction(db, openMs, () => {
        // Another process may have been first.
        if (!holdsStore(db, path)) db.exec(schema);
      });
    }
    db.exec('PRAGMA synchronous = FULL');
    // A plant that a killed process had written but not yet synced is read again like any other. A checkpoint syncs the
    // log before all else, so that from here on whatever can be read is durable, and a retry may be answered from it.
    db.exec('PRAGMA wal_checkpoint(PASSIVE)');
    // From here on `inTransaction` does the waiting.
    db.exec('PRAGMA busy_timeout = 0');
    return db;
  });
}

/**
 * Opens the store for reading only.
 *
 * @throws StoreOpenError if there is none, or as `openForWriting`.
 */
export function openForReading(path: string): DatabaseSync {
  return opening(path, () => {
    if (!existsSync(path)) {
      throw new StoreOpenError(`there is no store at ${path}; name it with --store, or make it with "plant-store serve"`);
    }
    const db = new DatabaseSync(path, { readOnly: true, timeout: openMs });
    if (holdsStore(db, path)) return db;
    throw new StoreOpenError(`the store at ${path} is empty; "plant-store serve" makes one there`);
  });
}

/**
 * Runs `change` in a transaction that is durable on return (`synchronous=FULL`), or rolls it back and throws.
 *
 * SQLite's own busy handler backs off to 100 ms between tries and may never meet the short gaps that a writer under full
 * load leaves; so this tries every millisecond, for at most `lockMs`.
 */
export function inTransaction<T>(db: DatabaseSync, lockMs: number, change: () => T): T {
  begin(db, lockMs);
  try {
    const result = change();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    // SQLite has rolled back by itself after some errors.
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

function begin(db: DatabaseSync, lockMs: number): void {
  const deadline = performance.now() + lockMs;
  for (;;) {
    try {
      db.exec('BEGIN IMMEDIATE');
      return;
    } catch (error) {
      if (sqliteCode(error) !== SQLITE_BUSY) throw error;
      if (performance.now() > deadline) {
        throw new StoreError('unavailable', `another process has kept the store locked for ${lockMs} ms`, { cause: error });
      }
      Atomics.wait(pause, 0, 0, 1);
    }
  }
}

const pause = new Int32Array(new SharedArrayBuffer(4));

/** @returns false if the file is new and empty. */
function holdsStore(db: DatabaseSync, path: string): boolean {
  const id = pragma(db, 'application_id');
  const version = pragma(db, 'user_version');
  if (id === applicationId && version <= schemaVersion) return true;
  if (id === applicationId) {
    throw new StoreOpenError(
      `the store at ${path} was made by a newer plant-store (schema ${version}, this one knows ${schemaVersion}); run that version or a later one`,
    );
  }
  const tables = db.prepare('SELECT count(*) AS n FROM sqlite_schema').get();
  if (id === 0 && tables?.['n'] === 0) return false;
  throw new StoreOpenError(`${path} is an SQLite database of another program, not a plant store; choose another file with --store`);
}

function pragma(db: DatabaseSync, name: string): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}

/** Turns what SQLite or the file system say into a sentence for the operator. */
function opening<T>(path: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (error instanceof StoreOpenError) throw error;
    if (sqliteCode(error) === SQLITE_NOTADB) {
      throw new StoreOpenError(`${path} is not a plant store; choose another file with --store`, { cause: error });
    }
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreOpenError(
      `cannot open the store at ${path} (${reason}); check that the file and its folder exist and are writable, or choose another with --store`,
      { cause: error },
    );
  }
}
