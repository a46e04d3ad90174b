import { existsSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { linkDurably, makeFolderDurably, syncFolder } from '../../disk/files.ts';
import { StoreOpenError } from '../errors.ts';
import { sqliteCompanions } from '../location.ts';
import { isThere, opening } from './database.ts';
import { SQLITE_BUSY, SQLITE_CORRUPT, SQLITE_NOTADB, sqliteCode } from './errors.ts';
import { schemaVersionOf } from './schema.ts';

/**
 * A store, or the place where one may be, that no other process can open until this is disposed of.
 */
export interface ClaimedStore extends Disposable {
  /**
   * Puts the file `copy`, which is in a folder beside the store, in its place. At every moment
   * there is one of the two.
   *
   * @param keptPath the name that the store which was there gets
   * @returns whether there was one
   * @throws StoreOpenError if `keptPath` is taken, or a store has come to be where there was none
   */
  replaceBy(copy: string, keptPath: string): boolean;
}

/**
 * @param mayHoldPlants whether a store with plants, or whatever else the file is, may be claimed
 * @throws StoreOpenError if another process has the store open, or it holds what it may not
 */
export function claimSqliteStore(path: string, mayHoldPlants: boolean): ClaimedStore {
  return opening(path, () => {
    makeFolderDurably(dirname(path));
    const db = isThere(path) ? openAlone(path, mayHoldPlants) : undefined;
    return {
      replaceBy: (copy, keptPath) => replace(path, copy, keptPath),
      [Symbol.dispose]: () => db?.close(),
    };
  });
}

/**
 * @returns undefined for a file that may be anything, and cannot be locked because it is no
 * database
 */
function openAlone(path: string, mayHoldPlants: boolean): DatabaseSync | undefined {
  if (!isDatabase(path, mayHoldPlants)) return undefined;
  const db = new DatabaseSync(path);
  try {
    // Takes the log into the file and removes it, which needs sole access; and so does what keeps
    // others out from here on. A service that has just opened the file must leave this mode, and
    // will fail to: SQLite then finds that the file was renamed.
    db.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
    // Plants may have come since the first look, and cannot any more.
    if (!mayHoldPlants) refusePlants(db, path);
    return db;
  } catch (error) {
    db.close();
    if (sqliteCode(error) !== SQLITE_BUSY) throw error;
    throw new StoreOpenError(
      `another process has the store at ${path} open; stop the service, and whatever else uses it, first`,
    );
  }
}

/**
 * Looks for reading only, so that what is refused stays as it is, and so does what can still be
 * saved of a damaged file.
 */
function isDatabase(path: string, mayHoldPlants: boolean): boolean {
  using db = new DatabaseSync(path, { readOnly: true });
  try {
    if (!mayHoldPlants) refusePlants(db, path);
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    return true;
  } catch (error) {
    const code = sqliteCode(error);
    if (mayHoldPlants && (code === SQLITE_NOTADB || code === SQLITE_CORRUPT)) return false;
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

function replace(path: string, copy: string, keptPath: string): boolean {
  const isThere = existsSync(path);
  // A second name first, so that there is a store under the first one at every moment.
  if (isThere) giveName(path, keptPath);
  // Left there, they would be taken for a part of the next database of that name.
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
