import type { Worker } from 'node:worker_threads';
import { limits } from '../limits.ts';
import { StoreError } from '../store/errors.ts';
import type { PlantReader } from '../store/plants.ts';

type Name = 'getPlant' | 'searchPlants' | 'countPlantsAfter';

/** What the thread is asked. It answers with what the reader returns, in the same order. */
export type ReaderRequest = {
  [N in Name]: { readonly read: N; readonly args: Parameters<PlantReader[N]> };
}[Name];
export type ReaderOrder = ReaderRequest | 'close';

/**
 * Reads that may take a while, one after the other on a thread of their own. Closing it waits for
 * the one under way.
 */
export interface ReaderThread extends AsyncDisposable {
  /**
   * @param signal when it is aborted, a read that has not begun never will
   * @throws StoreError (`unavailable`) when too many wait, or the thread has failed: the next read
   * starts another one
   */
  read<N extends Name>(
    name: N,
    args: Parameters<PlantReader[N]>,
    signal?: AbortSignal,
  ): ReturnType<PlantReader[N]>;
}

interface Waiting {
  readonly request: ReaderRequest;
  readonly signal: AbortSignal | undefined;
  readonly answer: PromiseWithResolvers<unknown>;
}

/**
 * @param start starts a thread (`reader-thread.ts`)
 * @param onFailure told why one has failed
 */
export function openReaderThread(
  start: () => Worker,
  onFailure: (error: Error) => void,
): ReaderThread {
  const waiting: Waiting[] = [];
  let asked: Waiting | undefined;
  let thread: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  let ended: Promise<unknown> = Promise.resolve();
  let isClosed = false;

  function startThread(): Worker {
    const started = start();
    started.on('message', (answer) => settle(({ resolve }) => resolve(answer)));
    started.on('error', onFailure);
    started.on('exit', () => {
      // One that was told to end was idle, unless all ends.
      if (thread !== started && !isClosed) return;
      thread = undefined;
      settle(({ reject }) => reject(unavailable('the thread that reads the store has failed')));
    });
    return started;
  }

  function settle(how: (answer: Waiting['answer']) => void): void {
    if (asked !== undefined) how(asked.answer);
    asked = undefined;
    askNext();
  }

  /** It finishes what it is doing. The next read starts another. */
  function endThread(): void {
    if (thread === undefined) return;
    const ending = thread;
    ended = new Promise((resolve) => ending.once('exit', resolve));
    ending.postMessage('close' satisfies ReaderOrder);
    thread = undefined;
  }

  function askNext(): void {
    if (asked !== undefined) return;
    clearTimeout(idle);
    asked = waiting.shift();
    if (asked === undefined) {
      idle = setTimeout(endThread, limits.ops.readerIdleMs).unref();
      return;
    }
    if (isClosed || asked.signal?.aborted)
      return settle(({ reject }) => reject(unavailable('nobody waits for the answer any more')));
    thread ??= startThread();
    thread.postMessage(asked.request satisfies ReaderOrder);
  }

  return {
    read(name, args, signal) {
      const answer = Promise.withResolvers<unknown>();
      if (waiting.length >= limits.ops.readsMax)
        answer.reject(unavailable(`${waiting.length} others wait for the store to be read`));
      else waiting.push({ request: { read: name, args } as ReaderRequest, signal, answer });
      askNext();
      return answer.promise as ReturnType<PlantReader[typeof name]>;
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      clearTimeout(idle);
      endThread();
      await ended;
    },
  };
}

function unavailable(message: string): StoreError {
  return new StoreError('unavailable', message);
}
