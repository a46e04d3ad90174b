import type { DatabaseSync } from 'node:sqlite';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
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
import type { Order, Reply, Request, WriterOptions, WriterReport } from './writer.ts';

/*
 * The one thread that owns the write connection. It blocks while the disk syncs; that is what it is
 * for. What the threads that answer requests have handed over meanwhile is then created in one
 * transaction.
 */

interface Asked {
  readonly port: MessagePort;
  readonly request: Request;
}

const { path, lockMs, mayMake, measures: memory } = workerData as WriterOptions;
const measures = measuresIn(writerLayout, memory);
const owner = parentPort;
if (owner === null) throw new Error('this file is the entry of a worker thread');
const report = (message: WriterReport) => owner.postMessage(message);

try {
  const { db, isNew } = openForWriting(path, mayMake);
  serve(db);
  report({ isNew });
} catch (error) {
  if (!(error instanceof StoreOpenError)) throw error;
  report({ failure: error.message });
}

function serve(db: DatabaseSync): void {
  const transactions = prepareTransactions(db, lockMs, Date.now);
  const { checkpointIfDue, demandRoom } = prepareCheckpoints(db, (ms) =>
    observe(measures.checkpointSeconds, secondsBounds, ms / 1_000),
  );
  const filesAreTheSame = rememberFiles([path, `${db.location()}-wal`]);
  const asked: Asked[] = [];
  /**
   * From a fatal failure on, nothing is asked of the connection any more: a second sync might
   * succeed, with the data of the first one lost.
   */
  let failure: StoreError | undefined;

  owner?.on('message', (order: Order) => {
    if (order === 'close') {
      db.close();
      process.exit();
    }
    order.connect.on('message', (request: Request) => {
      // Once per turn of the event loop, after the messages of all ports have been taken in.
      if (asked.push({ port: order.connect, request }) === 1) setImmediate(answer);
    });
  });

  function answer(): void {
    const creates: { port: MessagePort; columns: Columns }[] = [];
    for (const { port, request } of asked.splice(0)) {
      if (request.transaction === 'createPlants') creates.push({ port, columns: request.argument });
      // Replies on a port come in the order of the requests, so the creates asked for before come
      // first.
      else {
        create(creates.splice(0));
        port.postMessage(attempt(() => durably(() => run(request))));
      }
    }
    create(creates);
    attempt(checkpointIfDue);
  }

  function create(creates: readonly { port: MessagePort; columns: Columns }[]): void {
    if (creates.length === 0) return;
    const startedMs = performance.now();
    const all = attempt(() => {
      demandRoom();
      return durably(() => transactions.createPlants(creates.map(({ columns }) => columns)));
    });
    const tookMs = performance.now() - startedMs;
    creates.forEach(({ port }, index) => {
      port.postMessage('done' in all ? { done: all.done[index] } : all);
    });
    observe(measures.commitSeconds, secondsBounds, tookMs / 1_000);
    observe(
      measures.batchPlants,
      plantsBounds,
      creates.reduce((plants, { columns }) => plants + columns.ids.length, 0),
    );
  }

  function run(request: Exclude<Request, { transaction: 'createPlants' }>): unknown {
    switch (request.transaction) {
      case 'createToken':
        return transactions.createToken(request.argument);
      case 'revokeToken':
        return transactions.revokeToken(request.argument);
      case 'copyTokens':
        return transactions.copyTokens(request.argument);
      case 'recordTokenUse':
        return transactions.recordTokenUse(request.argument);
      case 'createSession':
        return transactions.createSession(request.argument);
      case 'removeSession':
        return transactions.removeSession(request.argument);
      case 'beat':
        demandRoom();
        return transactions.beat(request.argument);
      case 'recordBackup':
        return transactions.recordBackup(request.argument);
      default:
        return request satisfies never;
    }
  }

  /** A transaction that has been synced is only kept if its file is. */
  function durably<T>(transaction: () => T): T {
    const result = transaction();
    if (filesAreTheSame()) return result;
    throw new StoreError(
      'fatal',
      `the files of the store at ${path} have been removed or replaced while it was open`,
    );
  }

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
}
