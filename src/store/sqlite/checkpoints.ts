import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../limits.ts';
import { sizeText } from '../../size-text.ts';
import { StoreError } from '../errors.ts';
import { storeError } from './errors.ts';
import { pragma } from './schema.ts';

export interface Checkpoints {
  /** To be called after each transaction. Throws a `StoreError` only if that is `fatal`. */
  checkpointIfDue(): void;
  /**
   * To be called before plants are created. @throws StoreError if the log has reached its limit and
   * a reader keeps it from beginning anew
   */
  demandRoom(): void;
}

/** What a page takes in the log besides itself (sqlite.org/fileformat2.html#walformat). */
const frameHeadBytes = 24;

/**
 * Copies the log into the database file from time to time (sqlite.org/wal.html#ckpt), so that it
 * stays small. SQLite would do so by itself, but within the commit that nobody has been answered
 * for yet, and without a word about a sync that failed.
 *
 * The log begins anew when all of it has been copied and nobody reads what is in it. Readers that
 * overlap leave no such moment, so a large log has the writer wait for them now and then: those
 * that begin meanwhile read the file alone.
 *
 * @param onCopied told how long each copy took
 */
export function prepareCheckpoints(
  db: DatabaseSync,
  onCopied: (tookMs: number) => void,
): Checkpoints {
  const measure = db.prepare('PRAGMA wal_checkpoint(NOOP)');
  const copy = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  const copyForReaders = db.prepare('PRAGMA wal_checkpoint(RESTART)');
  const frameBytes = frameHeadBytes + pragma(db, 'page_size');
  let pages = 0;
  let pagesAtLast = 0;
  let waitedAtMs = Number.NEGATIVE_INFINITY;

  function isToWait(): boolean {
    return (
      pages * frameBytes > limits.sqlite.walBytesKept &&
      performance.now() - waitedAtMs > limits.sqlite.readersEveryMs
    );
  }

  /**
   * SQLite waits for the readers here. The next write then begins the log anew, unless they took
   * longer.
   */
  function waitForReaders(): void {
    db.exec(`PRAGMA busy_timeout = ${limits.sqlite.readersMs}`);
    copying(copyForReaders);
    db.exec('PRAGMA busy_timeout = 0');
    waitedAtMs = performance.now();
  }

  return {
    checkpointIfDue() {
      pages = Number(measure.get()?.['log']);
      // After a checkpoint that no reader was in the way of, the log begins anew.
      if (pages < pagesAtLast) pagesAtLast = 0;
      if (pages - pagesAtLast < limits.sqlite.checkpointPages) return;
      pagesAtLast = pages;
      const startedMs = performance.now();
      if (isToWait()) waitForReaders();
      else copying(copy);
      onCopied(performance.now() - startedMs);
    },
    demandRoom() {
      // Whether the next write begins the log anew, SQLite says only of a checkpoint that has
      // waited for readers, if for no time.
      if (pages * frameBytes < limits.sqlite.walBytesMax || copyForReaders.get()?.['busy'] === 0)
        return;
      throw new StoreError(
        'unavailable',
        `the log of the store has grown to ${sizeText(limits.sqlite.walBytesMax)}, because another program has been reading the store for long; creates are refused until it ends`,
      );
    },
  };
}

function copying(checkpoint: StatementSync): void {
  try {
    checkpoint.get();
  } catch (error) {
    // What was to be copied is still in the log: with no space for a copy, there may be some by the
    // next time.
    if (storeError(error).failure !== 'unavailable') throw error;
  }
}
