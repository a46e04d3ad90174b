import { existsSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { linkDurably, makeFolderDurably, syncFolder } from '../../disk/files.ts';
import { StoreOpenError } from '../errors.ts';
import { sqliteCompanions } from '../location.ts';
import { isThere, opening } from './database.ts';
import { isNoDatabase, SQLITE_BUSY, SQLITE_READONLY, sqliteCode } from './errors.ts';
import { demandSynced } from './repair.ts';
import { schemaVersionOf } from './schema.ts';

/**
 * Locks a store, or the place for one, against all other processes until disposal.
 *
 * @param mayHoldPlants whether to accept a store with plants, or any other file
 * @throws StoreOpenError if another process has the store open, or the content is not accepted
 */
export function claimSqliteStore(path: string, mayHoldPlants: boolean) {
  return opening(path, () => {
    makeFolderDurably(dirname(path));
    const db = isThere(path) ? openAlone(path, mayHoldPlants) : undefined;
    return {
      replaceBy: (copy: string, keptPath: string) => replace(path, copy, keptPath),
      [Symbol.dispose]: () => db?.close(),
    };
  });
}

/** @returns undefined for a file that is no database, which cannot be locked */
function openAlone(path: string, mayHoldPlants: boolean): DatabaseSync | undefined {
  if (!isDatabase(path, mayHoldPlants)) return undefined;
  demandSynced(path);
  const db = new DatabaseSync(path);
  try {
    // Leaving WAL mode needs sole access. A service that opens the file now fails to enter WAL
    // mode, and finds the file renamed.
    db.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
    // Plants may have been added before the lock.
    if (!mayHoldPlants) refusePlants(db, path);
    return db;
  } catch (error) {
    db.close();
    if (mayHoldPlants && isNoDatabase(error)) return undefined;
    if (sqliteCode(error) !== SQLITE_BUSY) throw error;
    throw new StoreOpenError(
      `another process has the store at ${path} open; stop the service, and whatever else ` +
        'uses it, first',
    );
  }
}

/** Opens the file for reading only: a refused store, or a damaged file, stays as it is. */
function isDatabase(path: string, mayHoldPlants: boolean): boolean {
  using db = new DatabaseSync(path, { readOnly: true });
  try {
    if (!mayHoldPlants) refusePlants(db, path);
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    return true;
  } catch (error) {
    if (mayHoldPlants && isNoDatabase(error)) return false;
    // The journal of a killed process must be rolled back first.
    if (sqliteCode(error) === SQLITE_READONLY) return true;
    throw error;
  }
}

function refusePlants(db: DatabaseSync, path: string): void {
  if (
    schemaVersionOf(db, path) === 0 ||
    db.prepare('SELECT 1 FROM plants LIMIT 1').get() === undefined
  )
    return;
  throw new StoreOpenError(
    `the store at ${path} holds plants; --overwrite replaces it, and keeps it under another name`,
  );
}

/**
 * Moves the file `copy`, from a folder beside the store, to the place of the store. At every moment
 * one of the two stands there.
 *
 * @param keptPath new name of the replaced store
 * @returns whether there was a store
 * @throws StoreOpenError if `keptPath` is taken, or another process has made a store meanwhile
 */
function replace(path: string, copy: string, keptPath: string): boolean {
  const isThere = existsSync(path);
  // The second name comes first: at every moment a store has the first name.
  if (isThere) giveName(path, keptPath);
  // SQLite would take these files for parts of the new store.
  for (const companion of sqliteCompanions) {
    if (existsSync(path + companion)) renameSync(path + companion, keptPath + companion);
  }
  if (isThere) renameSync(copy, path);
  else giveName(copy, path);
  syncFolder(dirname(path));
  return isThere;
}

function giveName(file: string, path: string): void {
  if (!linkDurably(file, path))
    throw new StoreOpenError(`there is a file ${path} already; try again`);
}
