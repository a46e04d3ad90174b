import type { MessagePort, Worker } from 'node:worker_threads';
import { limits } from '../../limits.ts';
import { StoreError, type StoreFailure } from '../errors.ts';

interface Call {
  readonly id: number;
  readonly name: string;
  readonly args: readonly unknown[];
}

type Reply = { readonly id: number } & (
  | { readonly result: unknown }
  | { readonly failure: StoreFailure; readonly message: string }
);

/**
 * Calls functions of another thread, which answers with `answerCalls`. Calls may overlap. The thread
 * keeps the process as long as a call is under way.
 */
export function callsTo(thread: Worker) {
  const underWay = new Map<number, PromiseWithResolvers<unknown>>();
  let lastId = 0;
  let hasEnded = false;
  thread.unref();
  thread.on('message', ({ id, ...reply }: Reply) => {
    const call = underWay.get(id);
    underWay.delete(id);
    if (underWay.size === 0) thread.unref();
    if ('failure' in reply) call?.reject(new StoreError(reply.failure, reply.message));
    else call?.resolve(reply.result);
  });
  thread.on('exit', () => {
    hasEnded = true;
    for (const { reject } of underWay.values()) reject(unavailable());
  });
  const unavailable = () =>
    new StoreError(
      'unavailable',
      hasEnded ? 'the thread of the store has ended' : 'the store has not answered earlier calls',
    );
  return {
    /** @throws StoreError, also beyond `limits.sqlite.callsMax`, and after the end of the thread */
    async call(name: string, args: readonly unknown[]): Promise<unknown> {
      if (hasEnded || underWay.size >= limits.sqlite.callsMax) throw unavailable();
      const answer = Promise.withResolvers<unknown>();
      lastId += 1;
      underWay.set(lastId, answer);
      thread.ref();
      thread.postMessage({ id: lastId, name, args } satisfies Call);
      return answer.promise;
    },
    /** Resolves when the calls under way have ended. */
    ended: () => Promise.allSettled([...underWay.values()].map(({ promise }) => promise)),
  };
}

/** @param functions by name, each with arguments and a result that may be sent to a thread */
export function answerCalls(port: MessagePort, functions: object): void {
  port.on('message', async ({ id, name, args }: Call) => {
    const call = functions[name as keyof typeof functions] as (...args: unknown[]) => unknown;
    try {
      port.postMessage({ id, result: await call(...args) } satisfies Reply);
    } catch (error) {
      const { failure = 'defect', message } = error as StoreError;
      port.postMessage({ id, failure, message } satisfies Reply);
    }
  });
}
