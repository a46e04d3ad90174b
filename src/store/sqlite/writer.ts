import { once } from 'node:events';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { startThread } from '../../program.ts';
import { StoreError, type StoreFailure, StoreOpenError } from '../errors.ts';
import type { Columns } from './batch.ts';
import type { Transactions } from './transactions.ts';

export interface WriterOptions {
  readonly path: string;
  /** Time that a transaction waits for another process. */
  readonly lockMs: number;
  readonly mayMake: boolean;
  /** For what it measures: `writerLayout`. */
  readonly measures: SharedArrayBuffer;
}

/** A request for one transaction. The thread joins the plants of several requests. */
export type SingleName = Exclude<keyof Transactions, 'createPlants'>;

interface Signatures extends Pick<Transactions, SingleName> {
  createPlants(plants: Columns): Uint8Array;
}

type Name = keyof Signatures;
type Argument<N extends Name> = Parameters<Signatures[N]>[0];
type Result<N extends Name> = ReturnType<Signatures[N]>;

type RequestOf<N extends Name> = {
  [K in N]: { readonly transaction: K; readonly argument: Argument<K> };
}[N];
export type SingleRequest<N extends SingleName = SingleName> = RequestOf<N>;
export type SingleHandlers = { [N in SingleName]: (argument: Argument<N>) => Result<N> };

/** A request to the thread, and its reply. Replies come in the order of the requests. */
export type Request = RequestOf<Name>;
export type Reply<T = unknown> = { done: T } | { failure: StoreFailure; message: string };

/** Orders to the thread, and its reports: opened, could not open, or failed. */
export type Order = { connect: MessagePort } | 'close';
export type WriterReport = { isNew: boolean } | { failure: string };

/** The thread that owns the write connection of a store. */
export interface WriterThread {
  readonly isNew: boolean;
  /** Opens a port to the thread, which can be transferred. */
  connect(): MessagePort;
  /** Resolves with the reason when the thread fails. It then refuses every request. */
  readonly failed: Promise<string>;
  /** Finishes the current work and closes the store. */
  close(): Promise<void>;
  /** Leaves the store as it is. The thread no longer keeps the process alive. */
  abandon(): void;
}

/** @throws StoreOpenError */
export async function startWriterThread(options: WriterOptions): Promise<WriterThread> {
  const thread = startThread('writer-thread', { workerData: options });
  const exit = new Promise((resolve) => thread.once('exit', resolve));
  const [opened] = (await once(thread, 'message')) as [WriterReport];
  if ('failure' in opened) {
    // The end of the thread closes the file.
    await exit;
    throw new StoreOpenError(opened.failure);
  }
  const failure = Promise.withResolvers<string>();
  thread.on('message', (message: Extract<WriterReport, { failure: string }>) =>
    failure.resolve(message.failure),
  );
  thread.on('error', (error: Error) =>
    failure.resolve(`the writer thread has failed: ${error.stack}`),
  );
  thread.on('exit', () => failure.resolve('the writer thread has ended'));
  return {
    isNew: opened.isNew,
    connect() {
      const { port1, port2 } = new MessageChannel();
      thread.postMessage({ connect: port1 } satisfies Order, [port1]);
      return port2;
    },
    failed: failure.promise,
    async close() {
      thread.postMessage('close' satisfies Order);
      await exit;
    },
    abandon: () => thread.unref(),
  };
}

/** One port to the writer. Replies come in the order of the requests. */
export interface Writer {
  /** @throws StoreError when the transaction failed, or the thread has ended */
  run<N extends Name>(transaction: N, argument: Argument<N>): Promise<Result<N>>;
  close(): void;
}

export function writerAt(port: MessagePort): Writer {
  const asked: { resolve: (value: never) => void; reject: (error: Error) => void }[] = [];
  let ended: StoreError | undefined;

  port.on('message', (reply: Reply) => {
    const waiting = asked.shift();
    if ('done' in reply) waiting?.resolve(reply.done as never);
    else waiting?.reject(new StoreError(reply.failure, reply.message));
  });
  const end = () => {
    ended ??= new StoreError('fatal', 'the writer thread has ended');
    for (const { reject } of asked.splice(0)) reject(ended);
  };
  port.on('close', end);

  return {
    run(transaction, argument) {
      if (ended) return Promise.reject(ended);
      port.postMessage({ transaction, argument } as Request);
      return new Promise((resolve, reject) => asked.push({ resolve, reject }));
    },
    close() {
      end();
      port.close();
    },
  };
}
