import { DatabaseSync } from 'node:sqlite';
import { makeFile } from '../../disk/files.ts';
import { intervalText } from '../../quantity-text.ts';
import { StoreError } from '../errors.ts';
import { SQLITE_BUSY, sqliteCode } from './errors.ts';

/**
 * Runs `change` in a transaction, or rolls it back. With `synchronous=FULL`, it is durable on
 * return. Tries every millisecond: SQLite's busy handler backs off to 100 ms, and may never meet
 * the short gaps of a writer under full load.
 */
export function inTransaction<T>(db: DatabaseSync, lockMs: number, change: () => T): T {
  retryWhileBusy(
    lockMs,
    () => db.exec('BEGIN IMMEDIATE'),
    () => lockedFor(lockMs),
  );
  return commitOrRollBack(db, change);
}

/** @returns false if another process has the lock of the store */
export function tryBegin(db: DatabaseSync): boolean {
  try {
    db.exec('BEGIN IMMEDIATE');
    return true;
  } catch (error) {
    if (sqliteCode(error) !== SQLITE_BUSY) throw error;
    return false;
  }
}

export function lockedFor(lockMs: number): StoreError {
  return new StoreError(
    'unavailable',
    `another process has kept the store locked for ${intervalText(lockMs)}`,
  );
}

/** Ends the transaction that has begun. */
export function commitOrRollBack<T>(db: DatabaseSync, change: () => T): T {
  try {
    const result = change();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    // After some errors SQLite has already rolled back.
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/** Tries every millisecond, for at most `lockMs`. @param locked makes the error to throw then */
export function retryWhileBusy<T>(lockMs: number, work: () => T, locked?: () => Error): T {
  const deadline = performance.now() + lockMs;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (sqliteCode(error) !== SQLITE_BUSY) throw error;
      if (performance.now() > deadline) throw locked?.() ?? error;
      Atomics.wait(pause, 0, 0, 1);
    }
  }
}

const pause = new Int32Array(new SharedArrayBuffer(4));

/** Locks an empty file until disposal. @returns undefined if another process has the lock */
export function tryLockFile(path: string): Disposable | undefined {
  makeFile(path);
  const db = new DatabaseSync(path);
  try {
    db.exec('BEGIN EXCLUSIVE');
    return { [Symbol.dispose]: () => db.close() };
  } catch (error) {
    db.close();
    if (sqliteCode(error) !== SQLITE_BUSY) throw error;
    return undefined;
  }
}
