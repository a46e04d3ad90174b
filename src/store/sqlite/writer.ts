import { closeSync, fdatasync, openSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { identityOf } from '../../disk/files.ts';
import type { SharedLock } from '../../threads/shared-lock.ts';
import { StoreError } from '../errors.ts';
import { commitOrRollBack, lockedFor, tryBegin } from './database.ts';
import { storeError } from './errors.ts';
import type { SharedWrites } from './shared-writes.ts';

const sync = promisify(fdatasync);

/**
 * The writes of one thread to a store.
 *
 * A transaction goes into the WAL without a sync (`synchronous=NORMAL`). Then the WAL is synced on
 * a thread of libuv, so the event loop turns also while a disk does not return. `durability.md`
 * says why this is as durable as `synchronous=FULL`. Transactions of other threads commit
 * meanwhile, and share the next sync.
 *
 * Linux reports a failed write of pages once to each descriptor, so the writer has a descriptor of
 * its own.
 *
 * @param lockMs time to wait for the transaction of another process
 * @param onDue called when a checkpoint is due
 */
export function openWriter(
  path: string,
  db: DatabaseSync,
  shared: SharedWrites,
  lockMs: number,
  onDue?: () => void,
) {
  const walPath = `${db.location()}-wal`;
  const descriptor = openSync(walPath, 'r+');
  const identity = identityOf(path);
  const walIdentity = identityOf(walPath);
  const underWay = new Set<Promise<void>>();

  /**
   * Runs `change` in a transaction of its own, and resolves when the transaction is on disk. What
   * the change has read is on disk then, too.
   *
   * @param pagesMax pages that the transaction may write
   * @throws StoreError
   */
  async function transact<T>(change: () => T, pagesMax: number): Promise<T> {
    const ended = Promise.withResolvers<void>();
    underWay.add(ended.promise);
    try {
      const { result, commit } = await holding(shared.lock, async () => {
        shared.demandRoom();
        if (!tryBegin(db)) await beginLater();
        return { result: commitOrRollBack(db, change), commit: shared.numberCommit() };
      });
      if (shared.noteWritten(pagesMax)) onDue?.();
      await holding(shared.syncLock, async () => {
        await shared.syncSince(commit, () => sync(descriptor).catch(failSync));
        // A write to a removed or replaced file is lost.
        if (identityOf(path) !== identity || identityOf(walPath) !== walIdentity)
          throw new StoreError(
            'fatal',
            `the files of the store at ${path} have been removed or replaced while it was open`,
          );
      });
      return result;
    } finally {
      underWay.delete(ended.promise);
      ended.resolve();
    }
  }

  /** Does nothing after a fatal failure. All threads know of such a failure when the lock is free. */
  async function holding<T>(lock: SharedLock, work: () => Promise<T>): Promise<T> {
    await lock.acquire();
    try {
      const failure = shared.failure();
      if (failure) throw failure;
      return await work();
    } catch (cause) {
      const error = storeError(cause);
      if (error.failure === 'fatal') shared.fail(error);
      throw error;
    } finally {
      lock.release();
    }
  }

  /** Tries every millisecond, as `inTransaction` does. */
  async function beginLater(): Promise<void> {
    const deadline = performance.now() + lockMs;
    do {
      if (performance.now() > deadline) throw lockedFor(lockMs);
      await delay(1);
    } while (!tryBegin(db));
  }

  return {
    transact,
    /** Waits for the transactions of this thread that are under way. */
    async close(): Promise<void> {
      await Promise.all(underWay);
      closeSync(descriptor);
    },
  };
}

function failSync(cause: Error): never {
  throw new StoreError('fatal', `the sync of the WAL has failed (${cause.message})`, { cause });
}
