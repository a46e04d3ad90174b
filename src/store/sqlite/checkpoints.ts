import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../limits.ts';
import type { StoreError } from '../errors.ts';
import { walBytesToKeep } from './database.ts';
import { storeError } from './errors.ts';
import { syncPart } from './failed-sync.ts';
import { pragma } from './schema.ts';
import type { SharedWrites } from './shared-writes.ts';
import { prepareTransactions } from './transactions.ts';
import { inTransaction } from './write-lock.ts';

/**
 * Checkpoints (sqlite.org/wal.html#ckpt) keep the WAL small. SQLite's own checkpoint would run
 * inside a commit that has not been answered, and ignore a failed sync.
 *
 * Most pages are copied while creates go on. The rest is copied under the lock, and so the WAL can
 * begin again: it does where all of it has been copied and no reader uses it. Overlapping readers
 * leave no such moment, so a large WAL waits for readers from time to time: readers that begin
 * during the wait use only the file.
 *
 * The event loop turns during each sync, and waits for one copy of pages at most.
 *
 * @param store descriptor of the file of the store
 * @param checkStore as `openFileCheck` returns it. With a lost index, a checkpoint would write over
 * what another process has written
 * @param onCopied gets the duration of each checkpoint
 * @returns a function that checkpoints if enough pages have been written, one call at a time. It
 * throws only StoreError that is fatal
 */
export function prepareCheckpoints(
  db: DatabaseSync,
  store: number,
  { lock, noteWalBytes }: SharedWrites,
  checkStore: () => StoreError | undefined,
  onCopied: (tookMs: number) => void,
): () => Promise<void> {
  const measure = db.prepare('PRAGMA wal_checkpoint(NOOP)');
  const copy = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  const copyForReaders = db.prepare('PRAGMA wal_checkpoint(RESTART)');
  const { beat } = prepareTransactions(db);
  /** Bytes of a page in the WAL (sqlite.org/fileformat2.html#walformat). */
  const frameBytes = 24 + pragma(db, 'page_size');
  let pagesAtLast = 0;
  let waitedAtMs = Number.NEGATIVE_INFINITY;

  function measurePages(): number {
    const pages = Number(measure.get()?.['log']);
    noteWalBytes(pages * frameBytes);
    return pages;
  }

  function isDue(): boolean {
    const pages = measurePages();
    // The WAL has begun again.
    if (pages < pagesAtLast) pagesAtLast = 0;
    return (
      pages - pagesAtLast >= limits.sqlite.checkpointPages ||
      pages * frameBytes >= limits.sqlite.walBytesMax
    );
  }

  /**
   * Beside creates, SQLite copies and does not sync. A sync of all these pages under the lock would
   * take 30 ms. Each further pass copies what has been written during the pass before.
   */
  async function copyMost(): Promise<void> {
    for (let pass = 0; pass < limits.sqlite.checkpointPasses; pass++) {
      const pages = measurePages();
      tryCheckpoint(copy);
      await syncPart('store', store);
      if (measurePages() - pages <= limits.sqlite.lockedPages) return;
    }
  }

  /** @returns whether the whole WAL is in the file */
  function copyRest(): boolean {
    const nowMs = performance.now();
    const bytes = measurePages() * frameBytes;
    const isFull = bytes >= limits.sqlite.walBytesMax;
    const isTime = nowMs - waitedAtMs > limits.sqlite.readersEveryMs;
    if (!isFull && (!isTime || bytes <= limits.sqlite.walBytesKept)) return tryCheckpoint(copy);
    waitedAtMs = nowMs;
    db.exec(`PRAGMA busy_timeout = ${limits.sqlite.readersMs}`);
    const isWhole = tryCheckpoint(copyForReaders);
    db.exec('PRAGMA busy_timeout = 0');
    return isWhole;
  }

  /**
   * While a reader holds the WAL, the reader may be Litestream, which lets the WAL begin again by
   * itself. It would take a smaller WAL for a reason to copy the whole store.
   */
  function limitWal(isWhole: boolean): void {
    const bytes = isWhole ? walBytesToKeep(db) : limits.sqlite.walBytesKept;
    db.exec(`PRAGMA journal_size_limit = ${bytes}`);
  }

  /**
   * The first write begins the WAL again, and syncs its header. At once: the lock of a reader that
   * begins now would not keep the WAL. Litestream, which reads the WAL itself, would then take torn
   * pages into its replica.
   */
  function beginWal(): void {
    try {
      inTransaction(db, 0, () => beat(Date.now()));
    } catch (error) {
      demandPassing(error);
    }
  }

  async function finish(): Promise<void> {
    const ticket = await lock.acquire();
    try {
      if (checkStore()) return;
      const isWhole = copyRest();
      limitWal(isWhole);
      if (isWhole) beginWal();
      pagesAtLast = measurePages();
    } finally {
      lock.release(ticket);
    }
  }

  return async () => {
    if (checkStore() || !isDue()) return;
    const startedMs = performance.now();
    await copyMost();
    await finish();
    onCopied(performance.now() - startedMs);
  };
}

/** @returns whether the whole WAL is in the file */
export function tryCheckpoint(checkpoint: StatementSync): boolean {
  try {
    const row = checkpoint.get();
    return row?.['busy'] === 0 && row['log'] === row['checkpointed'];
  } catch (error) {
    // The WAL still has the pages. A full disk may have space by the next checkpoint.
    demandPassing(error);
    return false;
  }
}

/** @throws StoreError if the store is unreliable from now on */
function demandPassing(error: unknown): void {
  const { failure } = storeError(error);
  if (failure !== 'unavailable') throw storeError(error);
}
