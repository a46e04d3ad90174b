import { limits } from '../../limits.ts';
import { sizeText } from '../../quantity-text.ts';
import { sharedLock, untilChanged } from '../../threads/shared-lock.ts';
import { StoreError } from '../errors.ts';
import { noteFailedSyncs, type Part } from './failed-sync.ts';

export type SharedWrites = ReturnType<typeof sharedWritesIn>;

const lockCells = 2;
const [comingCell, committedCell, syncedCell, newsCell] = [2, 3, 4, 5];
const [failedCell, dueCell, writtenCell, fullCell, goneCell] = [6, 7, 8, 9, 10];
const [unnotedCell, cellCount] = [11, 12];
const reasonBytesMax = 1_000;
const reasonAt = cellCount * Int32Array.BYTES_PER_ELEMENT;

const forever = 2 ** 31 - 1;

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

  const lock = sharedLock(cells.subarray(0, lockCells));

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

  /** Keeps the first failure. @param areFilesGone whether there is something to rescue */
  function fail(error: StoreError, areFilesGone = false): void {
    const bytes = Buffer.from(error.message).subarray(0, reasonBytesMax);
    if (Atomics.load(cells, failedCell) !== 0) return;
    Buffer.from(memory, reasonAt).set(bytes);
    Atomics.store(cells, goneCell, Number(areFilesGone));
    Atomics.store(cells, failedCell, bytes.length);
    Atomics.notify(cells, failedCell);
    tellNews();
    if (areFilesGone) wakeCheckpoints();
  }

  return {
    lock,
    failure,
    /** Takes the lock for a transaction. @returns its ticket */
    async acquire(): Promise<number> {
      Atomics.add(cells, comingCell, 1);
      const ticket = await lock.acquire();
      Atomics.sub(cells, comingCell, 1);
      return ticket;
    },
    /** @throws StoreError if readers keep a WAL of the largest size */
    demandRoom(): void {
      if (Atomics.load(cells, fullCell) === 0) return;
      wakeCheckpoints();
      throw new StoreError('unavailable', walIsFull);
    },
    /** @returns the number of a commit. The numbers wrap. */
    numberCommit: () => (Atomics.add(cells, committedCell, 1) + 1) | 0,
    /** Whether no thread waits for the lock, to commit and then sync for all. */
    isLast: () => Atomics.load(cells, comingCell) === 0,
    lastCommit: () => Atomics.load(cells, committedCell),
    /** @param commit the last one that is on disk: it was the last before the sync began */
    noteSynced(commit: number): void {
      let synced = Atomics.load(cells, syncedCell);
      while (((commit - synced) | 0) > 0)
        synced = Atomics.compareExchange(cells, syncedCell, synced, commit);
      tellNews();
    },
    /**
     * Waits for the sync of that commit, for at most `limits.service.standstillMs`: the thread that
     * is to sync may stand still.
     *
     * @returns whether the commit is on disk @throws StoreError if it may never be
     */
    async synced(commit: number): Promise<boolean> {
      const isSynced = () => ((Atomics.load(cells, syncedCell) - commit) | 0) >= 0;
      const seen = Atomics.load(cells, newsCell);
      if (!isSynced() && !failure())
        await untilChanged(cells, newsCell, seen, limits.service.standstillMs);
      const failed = failure();
      if (failed && !isSynced()) throw failed;
      return isSynced();
    },
    fail,
    /** Fails the store, and leaves a note: if that fails, again until `noted` resolves. */
    failSync(error: StoreError, path: string, failed: readonly Part[]): void {
      if (!tryNote(path, failed)) {
        Atomics.store(cells, unnotedCell, 1);
        const again = setInterval(() => {
          if (!tryNote(path, failed)) return;
          clearInterval(again);
          Atomics.store(cells, unnotedCell, 0);
          Atomics.notify(cells, unnotedCell);
        }, limits.sqlite.noteRetryMs).unref();
      }
      fail(error);
    },
    isNoted: () => Atomics.load(cells, unnotedCell) === 0,
    /** Resolves when no note of a failed sync has still to be left. */
    async noted(): Promise<void> {
      while (Atomics.load(cells, unnotedCell) === 1)
        await untilChanged(cells, unnotedCell, 1, forever);
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
      await untilChanged(cells, dueCell, 0, forever);
      Atomics.store(cells, dueCell, 0);
      Atomics.store(cells, writtenCell, 0);
    },
    noteWalBytes(bytes: number): void {
      Atomics.store(cells, fullCell, Number(bytes >= limits.sqlite.walBytesMax));
    },
  };
}

function tryNote(path: string, failed: readonly Part[]): boolean {
  try {
    noteFailedSyncs(path, failed);
    return true;
  } catch {
    return false;
  }
}
