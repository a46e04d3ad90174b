import { closeSync, fdatasync, openSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { identityOf } from '../../disk/files.ts';
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
 * says why this is as durable as `synchronous=FULL`.
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
  { lock, refusal, fail, noteWritten }: SharedWrites,
  lockMs: number,
  onDue?: () => void,
) {
  const walPath = `${db.location()}-wal`;
  const descriptor = openSync(walPath, 'r+');
  const identity = identityOf(path);
  const walIdentity = identityOf(walPath);
  let underWay: Promise<void> | undefined;

  /**
   * Runs `change` in a transaction of its own, and resolves when the transaction is on disk. What
   * the change has read is on disk then, too.
   *
   * @param pagesMax pages that the transaction may write
   * @throws StoreError
   */
  async function transact<T>(change: () => T, pagesMax: number): Promise<T> {
    await lock.acquire();
    const ended = Promise.withResolvers<void>();
    underWay = ended.promise;
    try {
      const refused = refusal();
      if (refused) throw refused;
      if (!tryBegin(db)) await beginLater();
      const result = commitOrRollBack(db, change);
      if (noteWritten(pagesMax)) onDue?.();
      await sync(descriptor).catch(failSync);
      // A write to a removed or replaced file is lost.
      if (identityOf(path) !== identity || identityOf(walPath) !== walIdentity)
        throw new StoreError(
          'fatal',
          `the files of the store at ${path} have been removed or replaced while it was open`,
        );
      return result;
    } catch (cause) {
      const error = storeError(cause);
      if (error.failure === 'fatal') fail(error);
      throw error;
    } finally {
      lock.release();
      ended.resolve();
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
    /** Waits for the transaction of this thread that is under way. */
    async close(): Promise<void> {
      await underWay;
      closeSync(descriptor);
    },
  };
}

function failSync(cause: Error): never {
  throw new StoreError('fatal', `the sync of the WAL has failed (${cause.message})`, { cause });
}
