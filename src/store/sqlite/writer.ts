import { closeSync, openSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { inodeOf } from '../../disk/files.ts';
import { StoreError } from '../errors.ts';
import { triggerFailure } from './database.ts';
import { storeError } from './errors.ts';
import { parts, syncPart } from './failed-sync.ts';
import type { SharedWrites } from './shared-writes.ts';
import { commitOrRollBack, lockedFor, tryBegin } from './write-lock.ts';

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
  const descriptor = openSync(`${db.location()}-wal`, 'r+');
  const { checkIndex, checkStore } = openFileCheck(path, db, shared);
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
    const untilMs = performance.now() + lockMs;
    try {
      const { result, commit } = await commitInTurn(change, untilMs);
      if (shared.noteWritten(pagesMax)) onDue?.();
      while (!(await shared.synced(commit))) await sync(untilMs);
      return result;
    } finally {
      underWay.delete(ended.promise);
      ended.resolve();
    }
  }

  /** The last of the threads that wait for the lock syncs for all of them. */
  async function commitInTurn<T>(change: () => T, untilMs: number) {
    const ticket = await shared.acquire();
    try {
      const failure = shared.failure();
      if (failure) throw failure;
      shared.demandRoom();
      if (!tryBegin(db)) await beginLater();
      const result = commitOrRollBack(db, () => {
        const fault = checkIndex();
        if (fault) throw fault;
        return change();
      });
      const commit = shared.numberCommit();
      shared.lock.allowTakeover(ticket);
      if (shared.isLast()) await sync(untilMs);
      return { result, commit };
    } catch (cause) {
      const error = triggerFailure(db, path, cause) ?? storeError(cause);
      if (error.failure === 'fatal' && !shared.failure()) shared.failSync(error, path, parts);
      throw error;
    } finally {
      shared.lock.release(ticket);
    }
  }

  /**
   * Under the lock, so that no thread writes after a failed sync. Only if a thread stands still,
   * another one writes or syncs meanwhile. Commits count as synced when the files have been seen in
   * their places after the sync; until `untilMs`, their threads sync and look again.
   *
   * @throws StoreError
   */
  async function sync(untilMs: number): Promise<void> {
    const lastCommit = shared.lastCommit();
    await syncPart('WAL', descriptor).catch((error) => shared.failSync(error, path, ['WAL']));
    const fault = checkStore();
    if (fault === undefined) shared.noteSynced(lastCommit);
    else if (fault.failure === 'fatal' || performance.now() > untilMs) throw fault;
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
      checkStore();
      closeSync(descriptor);
    },
  };
}

/**
 * Looks for the files of a store that are open, since what is written to a removed or replaced file
 * is lost. Without the `-shm` of this process, another process makes a new one, and neither of them
 * knows what the other one writes: a transaction could overwrite acknowledged plants in the WAL.
 *
 * @returns functions that say why a transaction must not be written, and not be acknowledged.
 * `fatal`: the store has failed. `unavailable`: the files cannot be looked at now
 */
export function openFileCheck(path: string, db: DatabaseSync, shared: SharedWrites) {
  const index = seenNow(`${db.location()}-shm`);
  const files = [seenNow(path), seenNow(`${db.location()}-wal`), index];
  function look(seen: typeof files): StoreError | undefined {
    try {
      if (seen.some(({ file, inode }) => inodeOf(file) !== inode))
        shared.fail(filesGone(path), true);
    } catch (cause) {
      const reason = (cause as Error).message;
      return new StoreError('unavailable', `cannot look for the store (${reason})`, { cause });
    }
    return shared.failure();
  }
  return { checkIndex: () => look([index]), checkStore: () => look(files) };
}

const seenNow = (file: string) => ({ file, inode: inodeOf(file) });

export function filesGone(path: string): StoreError {
  const replaced = `the files of the store at ${path} have been removed or replaced`;
  return new StoreError('fatal', `${replaced} while it was open`);
}
