import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { StoreError, type StoreFailure, StoreOpenError } from '../store.ts';
import type { Transactions } from './transactions.ts';

export interface WriterOptions {
  readonly path: string;
  /** How long a transaction waits for another process to finish its own. */
  readonly lockMs: number;
}

type Name = keyof Transactions;
type Argument<N extends Name> = Parameters<Transactions[N]>[0];
type Result<N extends Name> = ReturnType<Transactions[N]>;

export type Request = { [N in Name]: { transaction: N; argument: Argument<N> } }[Name] | { transaction: 'close' };
export type Reply = { done: unknown } | { failure: StoreFailure | 'open'; message: string };

/** The thread that writes, seen from outside. It answers in the order in which it is asked. */
export interface Writer {
  /** @throws StoreError when the transaction failed, or the thread has ended */
  run<N extends Name>(transaction: N, argument: Argument<N>): Promise<Result<N>>;
  /** Lets what was asked before finish. */
  close(): Promise<void>;
}

/** @throws StoreOpenError */
export async function startWriter(options: WriterOptions): Promise<Writer> {
  const thread = new Worker(new URL('./writer-thread.ts', import.meta.url), { workerData: options });
  const asked: { resolve: (value: never) => void; reject: (error: Error) => void }[] = [];
  let ended: StoreError | undefined;

  const end = (message: string, cause?: unknown) => {
    ended ??= new StoreError('fatal', message, { cause });
    for (const { reject } of asked.splice(0)) reject(ended);
  };
  thread.on('error', (error) => end('the writer thread has failed', error));
  thread.on('exit', () => end('the writer thread has ended'));
  thread.on('message', (reply: Reply) => {
    const waiting = asked.shift();
    if ('done' in reply) waiting?.resolve(reply.done as never);
    else if (reply.failure === 'open') waiting?.reject(new StoreOpenError(reply.message));
    else waiting?.reject(new StoreError(reply.failure, reply.message));
  });

  const answer = <T>() => new Promise<T>((resolve, reject) => asked.push({ resolve, reject }));
  await answer<'open'>();

  return {
    run(transaction, argument) {
      if (ended) return Promise.reject(ended);
      thread.postMessage({ transaction, argument } as Request);
      return answer();
    },
    async close() {
      if (ended) return;
      const exit = once(thread, 'exit');
      thread.postMessage({ transaction: 'close' } satisfies Request);
      await exit;
    },
  };
}
