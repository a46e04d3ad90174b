import { DatabaseSync } from 'node:sqlite';
import { makeFile } from '../../disk/files.ts';
import { SQLITE_BUSY, sqliteCode } from './errors.ts';

/**
 * Locks an empty file against other processes, until disposal or the end of this process. The file
 * stays.
 *
 * @returns undefined if another process has the lock
 * @throws errors of SQLite and the file system
 */
export function tryLockFile(path: string): Disposable | undefined {
  makeFile(path, 0o600);
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
