import type { DatabaseSync } from 'node:sqlite';
import { limits } from '../../limits.ts';
import { storeError } from './errors.ts';

/**
 * Copies the log into the database file from time to time (sqlite.org/wal.html#ckpt), so that it stays small. SQLite would do so by
 * itself, but within the commit that nobody has been answered for yet, and without a word about a sync that failed.
 *
 * @returns what is to be called after each transaction. It throws a `StoreError` only if that is `fatal`.
 */
export function prepareCheckpoints(db: DatabaseSync): () => void {
  const measure = db.prepare('PRAGMA wal_checkpoint(NOOP)');
  const checkpoint = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  let pagesAtLast = 0;

  return () => {
    const pages = Number(measure.get()?.['log']);
    // After a checkpoint that no reader was in the way of, the log begins anew.
    if (pages < pagesAtLast) pagesAtLast = 0;
    if (pages - pagesAtLast < limits.checkpointPages) return;
    pagesAtLast = pages;
    try {
      checkpoint.get();
    } catch (error) {
      // What was to be copied is still in the log: with no space for a copy, there may be some by the next time.
      if (storeError(error).failure !== 'unavailable') throw error;
    }
  };
}
