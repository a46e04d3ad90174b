import type { MessagePort, Worker } from 'node:worker_threads';
import { limits } from '../limits.ts';

interface Call {
  readonly id: number;
  readonly name: string;
  readonly args: readonly unknown[];
}

/** An error passes to another thread without its class, and its own `fields` beside it. */
type Reply = { readonly id: number } & (
  | { readonly result: unknown }
  | { readonly error: Error; readonly fields: object }
);

/** With the code of a system error, or the failure of a StoreError. */
type CallError = Error & { readonly code?: string; readonly failure?: string };

/**
 * Calls functions of another thread, which answers with `answerCalls`. Calls may overlap, and keep
 * the process.
 *
 * @param threadName for messages
 * @param toError gives an error of a call its class
 */
export function callsTo(
  thread: Worker,
  threadName: string,
  toError: (error: CallError) => Error = (error) => error,
) {
  const underWay = new Map<number, PromiseWithResolvers<unknown>>();
  let lastId = 0;
  let hasEnded = false;
  thread.unref();
  // A message without an id is no reply.
  thread.on('message', ({ id, ...reply }: Reply) => {
    const call = underWay.get(id);
    underWay.delete(id);
    if (underWay.size === 0) thread.unref();
    if ('error' in reply) call?.reject(toError(Object.assign(reply.error, reply.fields)));
    else call?.resolve(reply.result);
  });
  thread.on('exit', () => {
    hasEnded = true;
    for (const { reject } of underWay.values()) reject(unavailable());
  });
  const unavailable = () => {
    const says = hasEnded ? 'has ended' : 'has not answered earlier calls';
    return toError(Object.assign(new Error(`${threadName} ${says}`), { failure: 'unavailable' }));
  };
  return {
    /** Fails beyond `limits.service.callsMax`, and after the end of the thread. */
    async call(name: string, args: readonly unknown[] = []): Promise<unknown> {
      if (hasEnded || underWay.size >= limits.service.callsMax) throw unavailable();
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
    } catch (thrown) {
      const error = thrown as Error;
      port.postMessage({ id, error, fields: { ...error } } satisfies Reply);
    }
  });
}
