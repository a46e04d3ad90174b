import { closeSync, fdatasync, openSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { identityOf } from '../../disk/files.ts';
import { StoreError } from '../errors.ts';
import { demandRoom } from './checkpoints.ts';
import { commitOrRollBack, lockedFor, tryBegin } from './database.ts';
import { storeError } from './errors.ts';
import type { SharedWrites } from './shared-writes.ts';

/** The connection of one thread that writes to a store. */
export interface Writer {
  /**
   * Runs `change` in a transaction of its own, and resolves when the transaction is on disk. What
   * the change has read is on disk then, too.
   *
   * @param pagesMax pages that the transaction may write
   * @throws StoreError
   */
  transact<T>(change: () => T, pagesMax: number): Promise<T>;
  /** Waits for the transaction of this thread that is under way. */
  close(): Promise<void>;
}

const sync = promisify(fdatasync);

/**
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
  { lock, failure, fail, noteWritten, ...wal }: SharedWrites,
  lockMs: number,
  onDue?: () => void,
): Writer {
  const walPath = `${db.location()}-wal`;
  const descriptor = openSync(walPath, 'r+');
  const identities = [path, walPath].map((file) => [file, identityOf(file)] as const);

  let underWay: Promise<void> | undefined;

  async function transact<T>(change: () => T, pagesMax: number): Promise<T> {
    await lock.acquire();
    const ended = Promise.withResolvers<void>();
    underWay = ended.promise;
    try {
      const reason = failure();
      if (reason) throw reason;
      demandRoom(wal);
      await begin();
      const result = commitOrRollBack(db, change);
      if (noteWritten(pagesMax)) onDue?.();
      await syncWal();
      demandSameFiles();
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
  async function begin(): Promise<void> {
    const deadline = performance.now() + lockMs;
    while (!tryBegin(db)) {
      if (performance.now() > deadline) throw lockedFor(lockMs);
      await delay(1);
    }
  }

  async function syncWal(): Promise<void> {
    try {
      await sync(descriptor);
    } catch (cause) {
      const { message } = cause as Error;
      throw new StoreError('fatal', `the sync of the WAL has failed (${message})`, { cause });
    }
  }

  /** A write to a removed or replaced file is lost. */
  function demandSameFiles(): void {
    if (identities.every(([file, identity]) => identityOf(file) === identity)) return;
    throw new StoreError(
      'fatal',
      `the files of the store at ${path} have been removed or replaced while it was open`,
    );
  }

  return {
    transact,
    async close() {
      await underWay;
      closeSync(descriptor);
    },
  };
}
