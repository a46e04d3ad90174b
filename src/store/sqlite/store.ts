import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { Worker } from 'node:worker_threads';
import { limits } from '../../limits.ts';
import { startThread } from '../../program.ts';
import { intervalText } from '../../quantity-text.ts';
import { measuresIn, writerLayout } from '../../threads/measures.ts';
import { StoreError } from '../errors.ts';
import { changes } from '../small-tables.ts';
import { callsOf } from '../steps.ts';
import type { SharedStore, Store, StoreShare } from '../store.ts';
import { measured, openShares } from '../write-measures.ts';
import { openAgain, openForWriting } from './database.ts';
import { readerOn } from './reader.ts';
import { sharedWritesIn, sharedWritesMemory } from './shared-writes.ts';
import { runSteps } from './steps.ts';
import { prepareTransactions } from './transactions.ts';
import { openWriter } from './writer.ts';

/** What the thread for checkpoints gets. */
export interface CheckpointThreadOptions {
  readonly path: string;
  /** `sharedWritesMemory` */
  readonly memory: SharedArrayBuffer;
  /** `writerLayout` */
  readonly measures: SharedArrayBuffer;
}

/**
 * A store in one SQLite file. Each thread that joins has a connection of its own.
 *
 * @param lockMs time that a write waits for another process
 * @throws StoreOpenError
 */
export async function openSqliteStore(
  path: string,
  lockMs: number,
  mayMake = true,
): Promise<SharedStore> {
  const memory = sharedWritesMemory();
  const { writers, share } = openShares(memory);
  const { db, isNew } = openForWriting(path, mayMake);
  const shared = sharedWritesIn(memory);
  /** Where a store is saved whose files are gone, or why the thread has ended. */
  const threadSays = Promise.withResolvers<string>();
  let thread: Worker | undefined;
  /** A command that writes little has no use for the thread. */
  const startCheckpoints = () => {
    if (thread) return;
    thread = startCheckpointThread({ path, ...share() }, threadSays.resolve);
    failWith(thread);
  };
  /** Fails the store if the thread ends with the lock, which no other thread would get. */
  const failWith = (other: Worker) => {
    const { threadId } = other;
    other.once('exit', () => {
      const ticket = shared.lock.ticketOf(threadId);
      if (ticket === undefined) return;
      shared.fail(new StoreError('fatal', 'a thread has ended during a transaction'));
      shared.lock.release(ticket);
    });
  };
  const store = storeOn(path, db, share(), lockMs, startCheckpoints);
  /** Resolves at once if nothing is to be rescued. */
  const rescued = once(async () => {
    if (thread === undefined || !shared.areFilesGone()) return;
    const ms = 2 * limits.sqlite.rescueMs;
    const says = `${shared.failure()?.message}; saving them has not ended in ${intervalText(ms)}`;
    const late = setTimeout(() => threadSays.resolve(says), ms);
    await threadSays.promise;
    clearTimeout(late);
  });
  const close = once(async () => {
    // The connection stays open: the last one of a process would sync again when it closes.
    if (!shared.failure()) await store.close();
    await rescued();
    if (shared.failure()) return;
    // This end is no failure.
    thread?.removeAllListeners('exit');
    // Last: its connection checkpoints, and removes the WAL.
    await thread?.terminate();
  });
  return {
    ...store,
    isNew,
    share(other) {
      startCheckpoints();
      failWith(other);
      return share();
    },
    failed: Promise.race([
      threadSays.promise,
      shared.failed.then((reason) => rescued().then(() => reason)),
    ]),
    promise: () => undefined,
    pooler: undefined,
    metrics: {
      writers,
      plantsBytes: async () => statSync(path, { throwIfNoEntry: false })?.size,
      connections: () => undefined,
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function startCheckpointThread(
  workerData: CheckpointThreadOptions,
  onEnd: (reason: string) => void,
): Worker {
  // The end of the thread must not close its descriptor of the store, which has the locks.
  const thread = startThread('checkpoint-thread', { workerData, trackUnmanagedFds: false });
  thread.unref();
  thread.on('message', onEnd);
  thread.on('error', ({ stack }) => onEnd(`the thread for checkpoints has failed: ${stack}`));
  thread.on('exit', () => onEnd('the thread for checkpoints has ended'));
  return thread;
}

/** The same store on another thread. @throws StoreOpenError */
export function joinSqliteStore(path: string, share: StoreShare, lockMs: number): Store {
  return storeOn(path, openAgain(path), share, lockMs);
}

/** @param onDue called when a checkpoint is due */
function storeOn(
  path: string,
  db: DatabaseSync,
  share: StoreShare,
  lockMs: number,
  onDue?: () => void,
): Store {
  const measures = measuresIn(writerLayout, share.measures);
  const writer = openWriter(path, db, sharedWritesIn(share.memory), lockMs, onDue);
  const { createPlants, beat } = prepareTransactions(db);
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
      return measured(measures, writer.transact(create, plants.length + 2));
    },
    ...callsOf(changes, (begin) => writer.transact(() => runSteps(db, begin()), smallPages)),
    beat: (atMs) => writer.transact(() => beat(atMs), smallPages),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Pages that a change of a small table may write. */
const smallPages = 4;

function once(close: () => Promise<void>): () => Promise<void> {
  let closing: Promise<void> | undefined;
  return () => {
    closing ??= close();
    return closing;
  };
}
