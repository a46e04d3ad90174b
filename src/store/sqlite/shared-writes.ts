import { limits } from '../../limits.ts';
import { sizeText } from '../../quantity-text.ts';
import { change, sharedLock } from '../../threads/shared-lock.ts';
import { StoreError } from '../errors.ts';
import type { Part, SyncNotes } from './failed-sync.ts';

export type SharedWrites = ReturnType<typeof sharedWritesIn>;

const [lockCell, comingCell, committedCell, syncedCell, newsCell] = [0, 1, 2, 3, 4];
const [failedCell, dueCell, writtenCell, fullCell, goneCell, cellCount] = [5, 6, 7, 8, 9, 10];
const reasonBytesMax = 1_000;
const reasonAt = cellCount * Int32Array.BYTES_PER_ELEMENT;

const walIsFull =
  `the WAL has grown to ${sizeText(limits.sqlite.walBytesMax)}, because another program has ` +
  'been reading the store for long; creates are refused until that program ends';

export function sharedWritesMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(reasonAt + reasonBytesMax);
}

/** What all connections of the process that write to one store share. */
export function sharedWritesIn(memory: SharedArrayBuffer) {
  const cells = new Int32Array(memory, 0, cellCount);
  /** Bytes of the reason in `failedCell`. */
  const reason = () =>
    Buffer.from(memory, reasonAt, Atomics.load(cells, failedCell)).toString('utf8');

  const lock = sharedLock(cells.subarray(lockCell, lockCell + 1));

  function tellNews(): void {
    Atomics.add(cells, newsCell, 1);
    Atomics.notify(cells, newsCell);
  }

  function wakeCheckpoints(): void {
    Atomics.store(cells, dueCell, 1);
    Atomics.notify(cells, dueCell);
  }

  /** After a fatal failure, no connection may touch the store again: look under the lock. */
  function failure(): StoreError | undefined {
    return Atomics.load(cells, failedCell) === 0 ? undefined : new StoreError('fatal', reason());
  }

  return {
    lock,
    failure,
    /** Takes the lock for a transaction. */
    async acquire(): Promise<void> {
      Atomics.add(cells, comingCell, 1);
      await lock.acquire();
      Atomics.sub(cells, comingCell, 1);
    },
    /** @throws StoreError if readers keep a WAL of the largest size */
    demandRoom(): void {
      if (Atomics.load(cells, fullCell) === 0) return;
      wakeCheckpoints();
      throw new StoreError('unavailable', walIsFull);
    },
    /** @returns the number of a commit. The numbers wrap. */
    numberCommit: () => (Atomics.add(cells, committedCell, 1) + 1) | 0,
    /** Whether there are commits to sync, and no other thread will take the lock and sync them. */
    mustSync(): boolean {
      const isSynced = Atomics.load(cells, committedCell) === Atomics.load(cells, syncedCell);
      return !isSynced && Atomics.load(cells, comingCell) === 0 && failure() === undefined;
    },
    /** All commits are on disk, and the lock is still held. */
    noteSynced(): void {
      Atomics.store(cells, syncedCell, Atomics.load(cells, committedCell));
      tellNews();
    },
    /** Resolves when that commit is on disk. @throws StoreError if it may never be */
    async synced(commit: number): Promise<void> {
      for (;;) {
        const seen = Atomics.load(cells, newsCell);
        if (((Atomics.load(cells, syncedCell) - commit) | 0) >= 0) return;
        const failed = failure();
        if (failed) throw failed;
        await change(cells, newsCell, seen);
      }
    },
    /** Keeps the first failure. @param areFilesGone whether there is something to rescue */
    fail(error: StoreError, areFilesGone = false): void {
      const bytes = Buffer.from(error.message).subarray(0, reasonBytesMax);
      if (Atomics.load(cells, failedCell) !== 0) return;
      Buffer.from(memory, reasonAt).set(bytes);
      Atomics.store(cells, goneCell, Number(areFilesGone));
      Atomics.store(cells, failedCell, bytes.length);
      Atomics.notify(cells, failedCell);
      tellNews();
      if (areFilesGone) wakeCheckpoints();
    },
    failSync(error: StoreError, notes: SyncNotes, failed: readonly Part[]): void {
      notes.add(failed);
      this.fail(error);
    },
    areFilesGone: () => Atomics.load(cells, goneCell) === 1,
    /** Resolves with the reason of the failure, on a thread with an event loop. */
    get failed(): Promise<string> {
      return Promise.resolve(Atomics.waitAsync(cells, failedCell, 0).value).then(reason);
    },
    /** Wakes the thread of the store when a checkpoint may be due. @returns whether so */
    noteWritten(pages: number): boolean {
      const written = Atomics.add(cells, writtenCell, pages) + pages;
      const isDue = written >= limits.sqlite.checkpointPages;
      if (isDue) wakeCheckpoints();
      return isDue;
    },
    /** Resolves when there is work for the thread of the store. */
    async work(): Promise<void> {
      await change(cells, dueCell, 0);
      Atomics.store(cells, dueCell, 0);
      Atomics.store(cells, writtenCell, 0);
    },
    noteWalBytes(bytes: number): void {
      Atomics.store(cells, fullCell, Number(bytes >= limits.sqlite.walBytesMax));
    },
  };
}
