import { closeSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { DatabaseSync } from 'node:sqlite';
import type { Worker } from 'node:worker_threads';
import { limits } from '../../limits.ts';
import { startThread } from '../../program.ts';
import { intervalText } from '../../quantity-text.ts';
import { callsTo } from '../../threads/calls.ts';
import { measuresIn, writerLayout } from '../../threads/measures.ts';
import type { StoreOptions } from '../engine.ts';
import { StoreError, type StoreFailure } from '../errors.ts';
import type { SharedStore, Store, StoreShare } from '../store.ts';
import { callsOf } from '../tables/steps.ts';
import { changes, reads } from '../tables/tables.ts';
import { measured, openShares } from '../write-measures.ts';
import { openAgain, openForWriting } from './database.ts';
import { failedSyncsOf } from './failed-sync.ts';
import { readerOn } from './reader.ts';
import { type OpenFiles, openFiles } from './rescue.ts';
import { sharedWritesIn, sharedWritesMemory } from './shared-writes.ts';
import { runSteps } from './steps.ts';
import { prepareTransactions } from './transactions.ts';
import { openWriter } from './writer.ts';

export interface StoreThreadOptions {
  readonly path: string;
  readonly lockMs: number;
  readonly share: StoreShare;
  readonly files: OpenFiles;
}

/**
 * A store in one SQLite file. Each thread that joins has a connection of its own. Once the store is
 * shared, the calls for the small tables run on a thread of the store, so that the caller waits for
 * no disk.
 *
 * @throws StoreOpenError
 */
export async function openSqliteStore(
  path: string,
  { callMs: lockMs, mayMake = false }: StoreOptions,
): Promise<SharedStore> {
  const memory = sharedWritesMemory();
  const { writers, share } = openShares(memory);
  const { db, isNew, syncAfterClose } = openForWriting(path, mayMake);
  const shared = sharedWritesIn(memory);
  /** Where a store is saved whose files are gone, or why the thread has ended. */
  const threadSays = Promise.withResolvers<string>();
  let thread: StoreThread | undefined;
  /** A command that writes little has no use for the thread. */
  const start = () => {
    if (thread) return;
    // Before a plant is acknowledged. The thread itself opens the store later.
    const files = openFiles(db);
    const data = { path, lockMs, share: share(), files };
    thread = startStoreThread(data, threadSays.resolve, () => shared.failure() !== undefined);
    failIfItEndsWithLock(thread.worker);
    // So that `close` waits until the thread has opened the store: during the last close of another
    // connection, the store is locked. A thread that cannot open the store fails the store itself.
    thread.call('lastBeat').catch(() => undefined);
  };
  /** Fails the store if the thread ends with the lock, which no other thread would get. */
  const failIfItEndsWithLock = (other: Worker) => {
    const { threadId } = other;
    other.once('exit', () => {
      const ticket = shared.lock.ticketOf(threadId);
      if (ticket === undefined) return;
      shared.fail(new StoreError('fatal', 'a thread has ended during a transaction'));
      shared.lock.release(ticket);
    });
  };
  const store = storeOn(path, db, share(), lockMs, start);
  /** Resolves at once if nothing is to be rescued. */
  const rescued = once(async () => {
    if (thread === undefined || !shared.areFilesGone()) return;
    const ms = 2 * limits.sqlite.rescueMs;
    const says = `${shared.failure()?.message}; saving them has not ended in ${intervalText(ms)}`;
    const late = setTimeout(() => threadSays.resolve(says), ms);
    await threadSays.promise;
    clearTimeout(late);
  });
  const stopped = Promise.withResolvers<void>();
  const failed = Promise.race([
    threadSays.promise,
    shared.failed.then(async (reason) => {
      await Promise.race([shared.noted(), stopped.promise]);
      await rescued();
      return shared.isNoted() ? reason : `${reason}; ${withoutNote}`;
    }),
  ]);
  const close = once(async () => {
    // A disk may not return from a call.
    await Promise.race([thread?.ended(), failed]);
    // The connection stays open: the last one of a process would sync again when it closes.
    if (!shared.failure()) await store.close();
    await rescued();
    if (shared.failure()) {
      stopped.resolve();
      await failed;
      return;
    }
    // Last: its connection checkpoints, and removes the WAL.
    await thread?.terminate();
    await syncAfterClose().catch((error) => {
      if (thread === undefined) throw error;
      threadSays.resolve(error.message);
    });
  });
  return {
    ...store,
    ...onThread(store, () => thread),
    isNew,
    testWrite: async () => [],
    share(other) {
      start();
      failIfItEndsWithLock(other);
      return share();
    },
    failed,
    durability: () => undefined,
    pooler: undefined,
    metrics: {
      writers,
      plantsBytes: async () => (await stat(path)).size,
      connections: () => undefined,
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The next start would trust the memory of the machine. */
const withoutNote =
  'no note of that could be left beside the store; unmount the disk, or restart the machine, before ' +
  'the next start';

type StoreThread = ReturnType<typeof startStoreThread>;

/**
 * @param onEnd gets why the thread has ended by itself
 * @param hasFailed whether the store has failed before, which says more than the end of the thread
 */
function startStoreThread(
  workerData: StoreThreadOptions,
  onEnd: (reason: string) => void,
  hasFailed: () => boolean,
) {
  const thread = startThread('store-thread', { workerData });
  let isOver = false;
  thread.on('message', ({ end }: { end?: string }) => end && onEnd(end));
  thread.on('error', ({ stack }) => onEnd(`the thread of the store has failed: ${stack}`));
  thread.on('exit', () => isOver || hasFailed() || onEnd('the thread of the store has ended'));
  return {
    worker: thread,
    ...callsTo(
      thread,
      'the thread of the store',
      // The stack of the thread tells where a defect is.
      (error) =>
        new StoreError((error.failure ?? 'defect') as StoreFailure, error.message, {
          cause: error,
        }),
    ),
    async terminate(): Promise<void> {
      isOver = true;
      await thread.terminate();
      // The store stays open: its end would end the locks that SQLite has on it, in the whole process.
      closeSync(workerData.files.wal);
    },
  };
}

const threadCalls = [...Object.keys(reads), ...Object.keys(changes), 'identity', 'beat'];

/** The calls whose arguments and results may be sent to a thread run there, if there is one. */
function onThread(store: Store, thread: () => StoreThread | undefined): Partial<Store> {
  const calls = threadCalls.map((name) => {
    const own = store[name as 'beat'] as (...args: readonly unknown[]) => Promise<unknown>;
    return [name, (...args: unknown[]) => thread()?.call(name, args) ?? own(...args)];
  });
  return Object.fromEntries(calls);
}

export function joinSqliteStore(path: string, share: StoreShare, lockMs: number): Store {
  return storeOn(path, openAgain(path), share, lockMs);
}

/** @param onDue called when a checkpoint is due */
export function storeOn(
  path: string,
  db: DatabaseSync,
  share: StoreShare,
  lockMs: number,
  onDue?: () => void,
): Store {
  const measures = measuresIn(writerLayout, share.measures);
  const shared = sharedWritesIn(share.memory);
  const writer = openWriter(path, db, shared, lockMs, onDue);
  const { createPlants, beat } = prepareTransactions(db);
  /** What this process has read since may be pages that the disk lacks. */
  function failIfOthersFailed(): void {
    try {
      const [failed] = failedSyncsOf(path);
      const says = `a sync of the ${failed} has failed in another process`;
      if (failed) shared.fail(new StoreError('fatal', says));
    } catch {
      // The next transaction cannot look for the files either, and says so.
    }
  }
  const close = once(async () => {
    await writer.close();
    db.close();
  });
  return {
    ...readerOn(path, { db, read: (work) => work(db) }),
    batchesMax: 1,
    createPlants(plants) {
      const nowMs = Date.now();
      const create = () => createPlants(plants, nowMs);
      return measured(measures, writer.transact(create, pagesFor(plants)));
    },
    ...callsOf(changes, (begin) => writer.transact(() => runSteps(db, begin()), smallPages)),
    async beat(atMs) {
      failIfOthersFailed();
      return writer.transact(() => beat(atMs), smallPages);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

const smallPages = 4;

/** A page of the table for each plant, those of the texts, and those of each transaction. */
function pagesFor(plants: Parameters<Store['createPlants']>[0]): number {
  // A UTF-16 code unit takes at most 3 bytes in UTF-8.
  const bytesMax = plants.reduce(
    (bytes, { name, tag }) => bytes + 3 * (name.length + (tag?.length ?? 0)),
    0,
  );
  return plants.length + Math.ceil(bytesMax / limits.sqlite.pageBytes) + 2;
}

function once(close: () => Promise<void>): () => Promise<void> {
  let closing: Promise<void> | undefined;
  return () => {
    closing ??= close();
    return closing;
  };
}
