import { existsSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { limits } from '../../limits.ts';
import { StoreError } from '../errors.ts';
import { mayBeLackOfRoom } from './errors.ts';
import { fileOf, parts } from './failed-sync.ts';

/** Time that opening waits for a process that is making the store. */
export const openMs = 5_000;

/** A store, a backup or any other file, open for reading. */
export type ReadFile = ReturnType<typeof readFileOn>;

/**
 * SQLite reads a file in WAL mode with a WAL and an index beside the file, and makes both. A full
 * or read-only disk, or the folder of another user, has no place for them. After a clean stop the
 * file is whole without them, and is then read without locks.
 *
 * @throws errors of SQLite
 */
export function openToRead(path: string): ReadFile {
  const db = new DatabaseSync(path, { readOnly: true, timeout: openMs });
  const whole = lacksRoom(db) ? openWithoutLocks(path) : undefined;
  if (whole === undefined) return readFileOn(db);
  db.close();
  return whole;
}

function lacksRoom(db: DatabaseSync): boolean {
  try {
    db.exec('SELECT 1 FROM sqlite_schema');
    return false;
  } catch (error) {
    // Whatever else is wrong with the file, the next read tells.
    return mayBeLackOfRoom(error);
  }
}

/**
 * Without locks, a service that starts meanwhile may copy its WAL into the file, and a read would
 * see half of the copy. So each read ends with a look at the times of the file.
 *
 * @returns undefined if the file is not whole
 */
function openWithoutLocks(path: string): ReadFile | undefined {
  const before = stampOf(path);
  // A change from now on is in another tick of the file system's clock than the last one before.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, limits.sqlite.fileTimeMs);
  const file = realpathSync(path);
  if (hasContent(`${file}-wal`) || hasContent(`${file}-journal`)) return undefined;
  // SQLite takes no locks, and ignores a WAL (sqlite.org/uri.html#uriimmutable).
  const url = new URL('?immutable=1', pathToFileURL(resolve(path)));
  return readFileOn(new DatabaseSync(url, { readOnly: true }), () => {
    if (stampOf(path) === before) return;
    throw new StoreError(
      'unavailable',
      `another program has written to ${path} during the read; run the command again`,
    );
  });
}

/** @param demandUnchanged what has been read until now is right only if this returns */
function readFileOn(db: DatabaseSync, demandUnchanged = () => {}) {
  return {
    db,
    demandUnchanged,
    /** Runs a read, which is right on return. @throws StoreError, and what it throws */
    read<T>(work: (db: DatabaseSync) => T): T {
      try {
        return work(db);
      } finally {
        demandUnchanged();
      }
    },
    [Symbol.dispose]: () => {
      if (db.isOpen) db.close();
    },
  };
}

function stampOf(path: string): string {
  const file = statSync(path, { bigint: true, throwIfNoEntry: false });
  return [file?.dev, file?.ino, file?.size, file?.mtimeNs, file?.ctimeNs].join();
}

function hasContent(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/**
 * Reads a store and its WAL to the end, because SQLite takes a failed read (EIO) for damage. The
 * descriptors stay open: a close would take the locks of SQLite from the whole process (fcntl(2)).
 *
 * @returns the error of the system, such as after a shutdown of the file system
 */
export function readFailure(path: string): Error | undefined {
  const chunk = Buffer.alloc(limits.disk.chunkBytes);
  try {
    for (const file of parts.map((part) => fileOf(path, part)).filter(existsSync)) {
      const descriptor = openSync(file, 'r');
      while (readSync(descriptor, chunk) > 0);
    }
    return undefined;
  } catch (error) {
    return error as Error;
  }
}
