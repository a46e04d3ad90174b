import type { DatabaseSync } from 'node:sqlite';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { limits } from '../../limits.ts';
import {
  measuresIn,
  observe,
  plantsBounds,
  secondsBounds,
  writerLayout,
} from '../../threads/measures.ts';
import { StoreError, StoreOpenError } from '../errors.ts';
import type { Columns } from './batch.ts';
import { prepareCheckpoints } from './checkpoints.ts';
import { openForWriting } from './database.ts';
import { storeError } from './errors.ts';
import { rememberFiles } from './same-files.ts';
import { prepareTransactions } from './transactions.ts';
import type {
  Order,
  Reply,
  Request,
  SingleHandlers,
  SingleName,
  SingleRequest,
  WriterOptions,
  WriterReport,
} from './writer.ts';

/*
 * The one thread that has the connection for writing. Each commit blocks the thread while the disk
 * syncs. Plants that arrive meanwhile from several threads go into one transaction.
 */

interface Create {
  readonly port: MessagePort;
  readonly columns: Columns;
}

const { path, lockMs, mayMake, measures: memory } = workerData as WriterOptions;
const measures = measuresIn(writerLayout, memory);
const owner = parentPort;
if (owner === null) throw new Error('this file is the entry of a worker thread');
const report = (message: WriterReport) => owner.postMessage(message);

try {
  const { db, isNew } = openForWriting(path, mayMake);
  receiveRequests(db, transactionsOn(db));
  report({ isNew });
} catch (error) {
  if (!(error instanceof StoreOpenError)) throw error;
  report({ failure: error.message });
}

interface Work {
  create(creates: readonly Create[]): void;
  run(port: MessagePort, request: SingleRequest): void;
  /** @returns whether the next write begins the WAL again */
  checkpointIfDue(): boolean;
  beginWal(): void;
}

function receiveRequests(db: DatabaseSync, work: Work): void {
  const { create, run, checkpointIfDue, beginWal } = work;
  const received: { readonly port: MessagePort; readonly request: Request }[] = [];
  let beginning: NodeJS.Timeout | undefined;

  function answer(): void {
    clearTimeout(beginning);
    const creates: Create[] = [];
    for (const { port, request } of received.splice(0)) {
      if (request.transaction === 'createPlants') {
        creates.push({ port, columns: request.argument });
        continue;
      }
      // Replies on a port come in the order of the requests: earlier creates come first.
      create(creates.splice(0));
      run(port, request);
    }
    create(creates);
    // The lock of a reader that begins now would not keep the next write from the start of the WAL.
    // Litestream, which reads the WAL itself, would then take torn pages into its replica.
    if (checkpointIfDue()) beginning = setTimeout(beginWal, limits.sqlite.beginWalMs);
  }

  owner?.on('message', (order: Order) => {
    if (order === 'close') {
      db.close();
      process.exit();
    }
    order.connect.on('message', (request: Request) => {
      // Answers once per turn of the event loop, after the messages of all ports.
      if (received.push({ port: order.connect, request }) === 1) setImmediate(answer);
    });
  });
}

function transactionsOn(db: DatabaseSync): Work {
  const checkpoints = prepareCheckpoints(db, (ms) =>
    observe(measures.checkpointSeconds, secondsBounds, ms / 1_000),
  );
  const { demandRoom } = checkpoints;
  const transactions = prepareTransactions(db, { lockMs, now: Date.now, demandRoom });
  const handlers: SingleHandlers = transactions;
  const { attempt, attemptDurably } = guard(db);
  return {
    create(creates) {
      if (creates.length === 0) return;
      const startedMs = performance.now();
      const batches = creates.map(({ columns }) => columns);
      const reply = attemptDurably(() => transactions.createPlants(batches));
      const tookMs = performance.now() - startedMs;
      creates.forEach(({ port }, index) => {
        port.postMessage('done' in reply ? { done: reply.done[index] } : reply);
      });
      observe(measures.commitSeconds, secondsBounds, tookMs / 1_000);
      const plants = batches.reduce((sum, { ids }) => sum + ids.length, 0);
      observe(measures.batchPlants, plantsBounds, plants);
    },
    run<N extends SingleName>(port: MessagePort, { transaction, argument }: SingleRequest<N>) {
      port.postMessage(attemptDurably(() => handlers[transaction](argument)));
    },
    checkpointIfDue() {
      const reply = attempt(checkpoints.checkpointIfDue);
      return 'done' in reply && reply.done;
    },
    beginWal: () => void attemptDurably(() => transactions.beat(Date.now())),
  };
}

/**
 * Turns failures into replies. After a fatal failure the connection is not used again: a second
 * sync might succeed although the data of the first is lost.
 */
function guard(db: DatabaseSync) {
  const filesAreTheSame = rememberFiles([path, `${db.location()}-wal`]);
  let failure: StoreError | undefined;

  function attempt<T>(work: () => T): Reply<T> {
    try {
      if (failure) throw failure;
      return { done: work() };
    } catch (cause) {
      const error = storeError(cause);
      if (error.failure === 'fatal' && failure === undefined) {
        failure = error;
        report({ failure: error.message });
      }
      return { failure: error.failure, message: error.message };
    }
  }

  return {
    attempt,
    /** A synced transaction is kept only if the files still have their names. */
    attemptDurably: <T>(transaction: () => T): Reply<T> =>
      attempt(() => {
        const result = transaction();
        if (filesAreTheSame()) return result;
        throw new StoreError(
          'fatal',
          `the files of the store at ${path} have been removed or replaced while it was open`,
        );
      }),
  };
}
