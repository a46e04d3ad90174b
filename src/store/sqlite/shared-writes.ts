import { limits } from '../../limits.ts';
import { sizeText } from '../../quantity-text.ts';
import { sharedLock } from '../../threads/shared-lock.ts';
import { StoreError } from '../errors.ts';

export type SharedWrites = ReturnType<typeof sharedWritesIn>;

const [lockCell, failedCell, dueCell, writtenCell, fullCell, cellCount] = [0, 1, 2, 3, 4, 5];
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
    /** Held from the begin of a transaction to the end of its sync. */
    lock: sharedLock(new Int32Array(memory, lockCell, 1)),
    failure,
    /** Why there can be no transaction now: a failure, or a WAL that readers keep. */
    refusal(): StoreError | undefined {
      if (Atomics.load(cells, failedCell) !== 0) return failure();
      if (Atomics.load(cells, fullCell) === 0) return undefined;
      wakeCheckpoints();
      return new StoreError('unavailable', walIsFull);
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
