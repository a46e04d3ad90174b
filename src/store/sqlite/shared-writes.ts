import { limits } from '../../limits.ts';
import { sizeText } from '../../quantity-text.ts';
import { sharedLock } from '../../threads/shared-lock.ts';
import { StoreError } from '../errors.ts';

export type SharedWrites = ReturnType<typeof sharedWritesIn>;

const [lockCell, syncLockCell, committedCell, syncedCell] = [0, 1, 2, 3];
const [failedCell, dueCell, writtenCell, fullCell, cellCount] = [4, 5, 6, 7, 8];
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

  function wakeCheckpoints(): void {
    Atomics.store(cells, dueCell, 1);
    Atomics.notify(cells, dueCell);
  }

  /** After a fatal failure, no connection may touch the store again: look under the lock. */
  function failure(): StoreError | undefined {
    return Atomics.load(cells, failedCell) === 0 ? undefined : new StoreError('fatal', reason());
  }

  return {
    /** Held by a transaction. */
    lock: sharedLock(cells.subarray(lockCell, lockCell + 1)),
    /** Held by a sync. */
    syncLock: sharedLock(cells.subarray(syncLockCell, syncLockCell + 1)),
    failure,
    /** @throws StoreError if readers keep a WAL of the largest size */
    demandRoom(): void {
      if (Atomics.load(cells, fullCell) === 0) return;
      wakeCheckpoints();
      throw new StoreError('unavailable', walIsFull);
    },
    /** @returns the number of a commit, under the lock. The numbers wrap. */
    numberCommit: () => (Atomics.add(cells, committedCell, 1) + 1) | 0,
    /** Calls `sync` unless another thread has synced since that commit. Under the lock for syncs. */
    async syncSince(commit: number, sync: () => Promise<void>): Promise<void> {
      if (((Atomics.load(cells, syncedCell) - commit) | 0) >= 0) return;
      const newest = Atomics.load(cells, committedCell);
      await sync();
      Atomics.store(cells, syncedCell, newest);
    },
    /** Keeps the first failure. */
    fail(error: StoreError): void {
      const bytes = Buffer.from(error.message).subarray(0, reasonBytesMax);
      if (Atomics.load(cells, failedCell) !== 0) return;
      Buffer.from(memory, reasonAt).set(bytes);
      Atomics.store(cells, failedCell, bytes.length);
      Atomics.notify(cells, failedCell);
    },
    /** Resolves with the reason of the failure, on a thread with an event loop. */
    get failed(): Promise<string> {
      return Promise.resolve(Atomics.waitAsync(cells, failedCell, 0).value).then(reason);
    },
    /** Wakes the thread for checkpoints when a checkpoint may be due. @returns whether so */
    noteWritten(pages: number): boolean {
      const written = Atomics.add(cells, writtenCell, pages) + pages;
      const isDue = written >= limits.sqlite.checkpointPages;
      if (isDue) wakeCheckpoints();
      return isDue;
    },
    /** Returns when there is work for the thread for checkpoints. */
    waitForWork(): void {
      Atomics.wait(cells, dueCell, 0);
      Atomics.store(cells, dueCell, 0);
      Atomics.store(cells, writtenCell, 0);
    },
    noteWalBytes(bytes: number): void {
      Atomics.store(cells, fullCell, Number(bytes >= limits.sqlite.walBytesMax));
    },
  };
}
