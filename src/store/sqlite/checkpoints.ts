import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../limits.ts';
import { sizeText } from '../../quantity-text.ts';
import { StoreError } from '../errors.ts';
import { walBytesKept } from './database.ts';
import { storeError } from './errors.ts';
import { pragma } from './schema.ts';

export interface Checkpoints {
  /**
   * Call it after each transaction.
   *
   * @returns whether a checkpoint has copied the whole WAL: the next write begins the WAL again
   * @throws StoreError only if `fatal`
   */
  checkpointIfDue(): boolean;
  /** Call it before creates. @throws StoreError if the WAL is full and readers prevent its reset */
  demandRoom(): void;
}

/** Bytes of a page in the WAL besides the page (sqlite.org/fileformat2.html#walformat). */
const frameHeadBytes = 24;

/**
 * Checkpoints (sqlite.org/wal.html#ckpt) keep the WAL small. SQLite's own checkpoint would run
 * inside a commit that has not been answered, and ignore a failed sync.
 *
 * The WAL is reset when all of it has been copied and no reader uses it. Overlapping readers leave
 * no such moment, so the writer waits for readers of a large WAL from time to time: readers that
 * begin during the wait use only the file.
 *
 * @param onCopied gets the duration of each checkpoint
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

  /** The next write resets the WAL, unless a reader took longer. */
  function waitForReaders(): boolean {
    db.exec(`PRAGMA busy_timeout = ${limits.sqlite.readersMs}`);
    const isWhole = tryCheckpoint(copyForReaders);
    db.exec('PRAGMA busy_timeout = 0');
    waitedAtMs = performance.now();
    return isWhole;
  }

  /**
   * While a reader holds the WAL, the reader may be Litestream, which lets the WAL begin again by
   * itself. It would take a smaller WAL for a reason to copy the whole store.
   */
  function limitWal(isWhole: boolean): void {
    const bytes = isWhole ? walBytesKept(db) : limits.sqlite.walBytesKept;
    db.exec(`PRAGMA journal_size_limit = ${bytes}`);
  }

  return {
    checkpointIfDue() {
      pages = Number(measure.get()?.['log']);
      // The WAL was reset.
      if (pages < pagesAtLast) pagesAtLast = 0;
      if (pages - pagesAtLast < limits.sqlite.checkpointPages) return false;
      pagesAtLast = pages;
      const startedMs = performance.now();
      const isWhole = isToWait() ? waitForReaders() : tryCheckpoint(copy);
      limitWal(isWhole);
      onCopied(performance.now() - startedMs);
      return isWhole;
    },
    demandRoom() {
      // Only a RESTART checkpoint tells whether the next write resets the WAL.
      if (pages * frameBytes < limits.sqlite.walBytesMax) return;
      const isWhole = copyForReaders.get()?.['busy'] === 0;
      limitWal(isWhole);
      if (isWhole) return;
      throw new StoreError(
        'unavailable',
        `the WAL has grown to ${sizeText(limits.sqlite.walBytesMax)}, because another ` +
          'program has been reading the store for long; creates are refused until that ' +
          'program ends',
      );
    },
  };
}

/** @returns whether the whole WAL is in the file */
function tryCheckpoint(checkpoint: StatementSync): boolean {
  try {
    const row = checkpoint.get();
    return row?.['log'] === row?.['checkpointed'];
  } catch (error) {
    // The WAL still has the pages. A full disk may have space by the next checkpoint.
    if (storeError(error).failure !== 'unavailable') throw error;
    return false;
  }
}
