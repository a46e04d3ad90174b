import { closeSync, fdatasync, openSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { identityOf } from '../../disk/files.ts';
import { StoreError } from '../errors.ts';
import { storeError } from './errors.ts';
import { openSyncNotes, parts } from './failed-sync.ts';
import type { SharedWrites } from './shared-writes.ts';
import { commitOrRollBack, lockedFor, tryBegin } from './write-lock.ts';

const sync = promisify(fdatasync);

/**
 * The writes of one thread to a store.
 *
 * A transaction goes into the WAL without a sync (`synchronous=NORMAL`). Then the WAL is synced on
 * a thread of libuv, so the event loop turns also while a disk does not return. `durability.md`
 * says why this is as durable as `synchronous=FULL`. Threads whose transactions wait for the same
 * sync share the next sync.
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
  const notes = openSyncNotes(path);
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
      const { result, commit } = await commitInTurn(change);
      if (shared.noteWritten(pagesMax)) onDue?.();
      await shared.synced(commit);
      return result;
    } finally {
      underWay.delete(ended.promise);
      ended.resolve();
    }
  }

  async function commitInTurn<T>(change: () => T): Promise<{ result: T; commit: number }> {
    await shared.acquire();
    try {
      const failure = shared.failure();
      if (failure) throw failure;
      shared.demandRoom();
      if (!tryBegin(db)) await beginLater();
      return { result: commitOrRollBack(db, change), commit: shared.numberCommit() };
    } catch (cause) {
      const error = storeError(cause);
      if (error.failure === 'fatal') shared.failSync(error, notes, parts);
      throw error;
    } finally {
      await syncIfLast();
      shared.lock.release();
    }
  }

  /** The last of the threads that wait for the lock syncs for all of them. */
  async function syncIfLast(): Promise<void> {
    if (!shared.mustSync()) return;
    const error = await syncError();
    if (error) shared.failSync(error, notes, ['WAL']);
    else if (!failIfGone()) shared.noteSynced();
  }

  async function syncError(): Promise<StoreError | undefined> {
    try {
      await sync(descriptor);
    } catch (cause) {
      const reason = (cause as Error).message;
      return new StoreError('fatal', `the sync of the WAL has failed (${reason})`, { cause });
    }
    return undefined;
  }

  /** A write to a removed or replaced file is lost. */
  function failIfGone(): boolean {
    if (identityOf(path) === identity && identityOf(walPath) === walIdentity) return false;
    const replaced = `the files of the store at ${path} have been removed or replaced`;
    shared.fail(new StoreError('fatal', `${replaced} while it was open`), true);
    return true;
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
      failIfGone();
      closeSync(descriptor);
      notes[Symbol.dispose]();
    },
  };
}
