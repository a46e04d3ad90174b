import { accessSync, constants, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { constants as constantsOfSqlite, DatabaseSync } from 'node:sqlite';
import { nearestExisting } from '../../disk/file-system.ts';
import { isSystemError, makeFile, makeFolderDurably, withoutLinks } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import { sizeText } from '../../quantity-text.ts';
import { commandOn, shellQuoted } from '../command-text.ts';
import type { FoundTriggers } from '../engine.ts';
import { StoreError, StoreOpenError } from '../errors.ts';
import { defaultStorePath, syncNotesEnding } from '../location.ts';
import { demandNewest } from '../schema-version.ts';
import {
  SQLITE_AUTH,
  SQLITE_BUSY,
  SQLITE_CORRUPT,
  SQLITE_FULL,
  SQLITE_NOTADB,
  sqliteCode,
} from './errors.ts';
import { makeSyncNotes } from './failed-sync.ts';
import { openMs, openToRead, type ReadFile, readFailure } from './read-file.ts';
import { demandSynced } from './repair.ts';
import { makeTables, refuseSchemaFault, schemaVersionOf, triggersIn } from './schema.ts';
import { inTransaction, retryWhileBusy } from './write-lock.ts';

/**
 * @throws StoreOpenError if there is no store, or it is not writable, damaged, of another schema,
 * or of another program
 */
export function openForWriting(path: string, mayMake: boolean) {
  return opening(path, () => {
    if (mayMake) makeFolderDurably(dirname(path));
    if (!isThere(path)) {
      if (!mayMake) throw noStore(path);
      // Without this, SQLite would make the file readable by everyone. SQLite gives its other files
      // the same mode.
      makeFile(path);
    }
    const { syncAfterClose } = demandSynced(path);
    const db = new DatabaseSync(path, { timeout: openMs });
    const version = schemaVersionOf(db, path);
    if (version === 0 && !mayMake) throw noStore(path);
    if (version > 0) {
      demandNewestFile(version, path);
      refuseSchemaFault(db, path);
    }
    setDurability(db);
    enterWalMode(db, path);
    const make = () => {
      // Another process may have been first.
      if (schemaVersionOf(db, path) > 0) return false;
      makeTables(db);
      return true;
    };
    const isNew = version === 0 && inTransaction(db, openMs, make);
    refuseDamage(db, path);
    checkpointAtStart(db);
    configureForWrites(db);
    makeSyncNotes(path);
    return { db, isNew, syncAfterClose };
  });
}

/** A further connection to a store that `openForWriting` has opened. */
export function openAgain(path: string): DatabaseSync {
  const db = new DatabaseSync(path);
  setDurability(db);
  configureForWrites(db);
  return db;
}

/**
 * The writer syncs the WAL, and waits for locks, by itself.
 *
 * Another program may make a trigger beside the service. SQLite then compiles each statement again,
 * and asks whether the statement may do what the trigger does, so it fails (`triggerFailure`).
 * Views and `WITH` are asked for in the same way, so no statement here may have them. A transaction
 * takes less than 1 µs more, because BEGIN and COMMIT are compiled each time.
 */
function configureForWrites(db: DatabaseSync): void {
  db.exec('PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 0');
  db.setAuthorizer((_action, _one, _two, _database, within) =>
    within === null ? constantsOfSqlite.SQLITE_OK : constantsOfSqlite.SQLITE_DENY,
  );
}

/** @returns undefined if no trigger is the cause */
export function triggerFailure(
  db: DatabaseSync,
  path: string,
  cause: unknown,
): StoreError | undefined {
  if (sqliteCode(cause) !== SQLITE_AUTH) return undefined;
  // Only a read lets the connection see that the trigger is gone.
  const { says, remedy } = triggersIn(db, path) ?? { says: 'had a trigger', remedy: 'it is gone' };
  return new StoreError('unavailable', `the store has ${says}; ${remedy}`, { cause });
}

/** The file of a new store has its tables then, and what a killed process has left in the WAL. */
function checkpointAtStart(db: DatabaseSync): void {
  try {
    db.exec('PRAGMA wal_checkpoint(PASSIVE)');
  } catch (error) {
    // The WAL keeps the pages that found no space in the file.
    if (sqliteCode(error) !== SQLITE_FULL) throw error;
  }
}

/** @throws StoreOpenError for the store of an earlier version */
export function demandNewestFile(version: number, path: string): void {
  demandNewest(version, `the store at ${path}`, urlOf(path));
}

/** Not for an empty file: SQLite would remove the WAL of an earlier store. @throws if hidden */
export function isThere(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

function noStore(path: string): StoreOpenError {
  const typed =
    path === defaultStorePath
      ? `the default ${path} is relative to the current folder; doctor finds that of a package`
      : `${path} is relative to the current folder`;
  return new StoreOpenError(
    `there is no store at ${resolve(path)}${isAbsolute(path) ? '' : ` (${typed})`}; name the ` +
      'store with --store or PLANT_STORE_STORE, or make one there with ' +
      `${commandOn(urlOf(path), 'serve')}`,
  );
}

function urlOf(path: string): string {
  return `sqlite:${resolve(path)}`;
}

/** For each connection that writes. On macOS, fsync(2) leaves data in the cache of the drive. */
export function setDurability(db: DatabaseSync): void {
  db.exec(`PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA wal_autocheckpoint = 0;
    PRAGMA journal_size_limit = ${limits.sqlite.walBytesKept}`);
}

/**
 * Bytes that the WAL keeps when it begins again after it was copied whole: none if Litestream has
 * followed the store. It would take a page behind the new beginning for the last that it knows.
 */
export function walBytesToKeep(db: DatabaseSync): number {
  const litestream = "SELECT 1 FROM sqlite_schema WHERE name = '_litestream_seq'";
  return db.prepare(litestream).get() === undefined ? limits.sqlite.walBytesKept : 0;
}

/** A new or restored store is in another mode. */
function enterWalMode(db: DatabaseSync, path: string): void {
  // SQLite itself does not wait while another process changes the mode.
  const setMode = () => db.prepare('PRAGMA journal_mode = WAL').get()?.['journal_mode'];
  const mode = retryWhileBusy(openMs, setMode);
  if (mode === 'wal') return;
  // Without shared memory on the file system, SQLite keeps the old mode without an error.
  throw new StoreOpenError(
    `the file system of ${path} cannot hold a store (journal mode ${mode}); choose a local ` +
      'disk with --store',
  );
}

/**
 * Reads a store of up to `limits.sqlite.checkedAtStartBytes`, within a tenth of a second. Damage in
 * a larger store shows on access, in a backup, and in `plant-store verify`.
 */
function refuseDamage(db: DatabaseSync, path: string): void {
  if (statSync(path).size > limits.sqlite.checkedAtStartBytes) return;
  const found = db.prepare('PRAGMA quick_check(1)').get()?.['quick_check'];
  if (found !== 'ok') throw readFailure(path) ?? damaged(path, String(found));
}

function damaged(path: string, what: string, cause?: unknown): StoreOpenError {
  return new StoreOpenError(
    `the store at ${path} is damaged (${what.replace(/\s+/g, ' ')}); keep the file, and ` +
      'put a backup in its place with ' +
      `${commandOn(urlOf(path), 'restore BACKUP --overwrite')}`,
    { cause },
  );
}

/** Also before the upgrade. @throws StoreOpenError if there is no store, or as `openForWriting` */
export function openForReading(path: string): ReadFile {
  const open = () => {
    const file = isThere(path) ? openToRead(path) : undefined;
    if (file && schemaVersionOf(file.db, path) > 0) return file;
    throw noStore(path);
  };
  return opening(path, open, constants.R_OK);
}

/** As `Engine.triggers`. */
export function triggersAt(path: string): FoundTriggers | undefined {
  using file = openForReading(path);
  return file.read((db) => triggersIn(db, path));
}

/** Turns errors into messages for the operator. @param mode of access(2), that the caller needs */
export function opening<T>(path: string, open: () => T, mode = constants.R_OK | constants.W_OK): T {
  try {
    return open();
  } catch (error) {
    if (error instanceof StoreOpenError) throw error;
    if (sqliteCode(error) === SQLITE_NOTADB) {
      throw new StoreOpenError(`${path} is not a plant store; choose another file with --store`, {
        cause: error,
      });
    }
    if (sqliteCode(error) === SQLITE_CORRUPT) throw damaged(path, (error as Error).message, error);
    const whole = resolve(path);
    throw new StoreOpenError(
      `cannot open the store at ${whole}: ${obstacleTo(whole, mode, error as Error)}, or choose ` +
        'another store with --store',
      { cause: error },
    );
  }
}

function obstacleTo(path: string, mode: number, error: Error): string {
  if (sqliteCode(error) === SQLITE_BUSY)
    return `another program keeps it locked; end that program ("fuser ${shellQuoted(path)}" finds it)`;
  const cause = isSystemError(error) ? error : systemErrorOf(() => useFiles(path, mode));
  if (cause === undefined || cause.code === 'EIO')
    return `${(cause ?? error).message}; look for errors of the disk in the log of the kernel (dmesg)`;
  if (cause.code === 'EISDIR')
    return `it is a folder; name a file, such as ${urlOf(join(path, 'plants.db'))}`;
  return (
    `${cause.message}; the user ${process.geteuid?.()} must be able to read and write there, with ` +
    `room for ${sizeText(limits.sqlite.startBytes)} in two more files`
  );
}

/** Does with Node what SQLite does to open a store: SQLite names neither the file nor the cause. */
function useFiles(path: string, mode: number): void {
  const file = withoutLinks(path);
  for (const ending of ['', '-wal', '-shm', syncNotesEnding]) {
    const stats = statSync(file + ending, { throwIfNoEntry: false });
    if (stats) accessSync(file + ending, mode);
    // A folder can be read, and not be written.
    if (stats?.isDirectory()) writeFileSync(file + ending, '');
  }
  const probe = join(nearestExisting(dirname(file)), `.plant-store-${process.pid}`);
  try {
    writeFileSync(probe, Buffer.alloc(limits.sqlite.startBytes), { flag: 'wx', mode: 0o600 });
  } finally {
    rmSync(probe, { force: true });
  }
}

function systemErrorOf(work: () => void): NodeJS.ErrnoException | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (isSystemError(error)) return error;
    throw error;
  }
}
