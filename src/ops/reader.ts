import type { Worker } from 'node:worker_threads';
import { limits } from '../limits.ts';
import { StoreError } from '../store/errors.ts';
import type { PlantReader } from '../store/plants.ts';

type Reads = Pick<PlantReader, 'getPlant' | 'searchPlants' | 'newestPlants' | 'countMatches'>;

type Name = keyof Reads;

/** A message to the thread. The thread answers with the result, in the order of the requests. */
interface ReaderRequest {
  readonly read: Name;
  readonly args: readonly unknown[];
}
export type ReaderOrder = ReaderRequest | 'close';

export type ReaderThread = ReturnType<typeof openReaderThread>;

interface Read {
  readonly request: ReaderRequest;
  readonly signal: AbortSignal | undefined;
  readonly answer: PromiseWithResolvers<unknown>;
}

/**
 * Long reads of a store, one at a time, on a thread that starts with a read and ends after
 * `limits.ops.readerIdleMs` without one. Disposing of it waits for the read under way.
 *
 * @param start starts a thread (`reader-thread.ts`)
 */
export function openReaderThread(start: () => Worker, onFailure: (error: Error) => void) {
  const waiting: Read[] = [];
  let current: Read | undefined;
  let thread: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  let ended: Promise<unknown> = Promise.resolve();
  let isClosed = false;

  function startThread(): Worker {
    const started = start();
    started.on('message', (answer) => finish(({ resolve }) => resolve(answer)));
    started.on('error', onFailure);
    started.on('exit', () => {
      // A thread that was told to end was idle, unless everything ends.
      if (thread !== started && !isClosed) return;
      thread = undefined;
      finish(({ reject }) => reject(unavailable('the thread that reads the store has failed')));
    });
    return started;
  }

  function finish(how: (answer: Read['answer']) => void): void {
    if (current !== undefined) how(current.answer);
    current = undefined;
    startNext();
  }

  function endThread(): void {
    if (thread === undefined) return;
    const ending = thread;
    ended = new Promise((resolve) => ending.once('exit', resolve));
    ending.postMessage('close' satisfies ReaderOrder);
    thread = undefined;
  }

  function startNext(): void {
    if (current !== undefined) return;
    clearTimeout(idle);
    current = waiting.shift();
    if (current === undefined) {
      idle = setTimeout(endThread, limits.ops.readerIdleMs).unref();
      return;
    }
    if (isClosed || current.signal?.aborted)
      return finish(({ reject }) => reject(unavailable('the read was cancelled')));
    thread ??= startThread();
    thread.postMessage(current.request satisfies ReaderOrder);
  }

  return {
    /**
     * @param signal its abort cancels a read that has not begun
     * @throws StoreError (`unavailable`) if `limits.ops.readsMax` reads wait, or the thread has
     * failed; the next read starts another thread
     */
    read<N extends Name>(
      name: N,
      args: Parameters<Reads[N]>,
      signal?: AbortSignal,
    ): ReturnType<Reads[N]> {
      const answer = Promise.withResolvers<unknown>();
      if (waiting.length >= limits.ops.readsMax)
        answer.reject(unavailable(`${waiting.length} other reads of the store wait`));
      else waiting.push({ request: { read: name, args }, signal, answer });
      startNext();
      return answer.promise as ReturnType<Reads[N]>;
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
