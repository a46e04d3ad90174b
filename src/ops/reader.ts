import type { Worker } from 'node:worker_threads';
import { limits } from '../limits.ts';
import { StoreError } from '../store/errors.ts';
import type { PlantReader } from '../store/plants.ts';
import { callsTo } from '../threads/calls.ts';

type Reads = Pick<PlantReader, 'getPlant' | 'searchPlants' | 'countMatches'>;

export type ReaderThread = ReturnType<typeof openReaderThread>;

/**
 * Long reads of a store, one at a time, on a thread that starts with a read and ends after
 * `limits.ops.readerIdleMs` without one, or with a failed read. Disposing of it waits for the read
 * under way.
 *
 * @param start starts a thread (`reader-thread.ts`)
 */
export function openReaderThread(start: () => Worker, onFailure: (error: Error) => void) {
  let thread: ReturnType<typeof startThread> | undefined;
  let idle: NodeJS.Timeout | undefined;
  let reads = 0;
  let last: Promise<unknown> = Promise.resolve();
  let isClosed = false;

  function startThread() {
    const worker = start();
    worker.on('error', onFailure);
    return { worker, ...callsTo(worker, 'the thread that reads the store') };
  }

  async function endThread(): Promise<void> {
    const ending = thread;
    thread = undefined;
    await ending?.worker.terminate();
  }

  async function readNow(name: string, args: readonly unknown[], signal?: AbortSignal) {
    if (isClosed || signal?.aborted) throw unavailable('the read was cancelled');
    thread ??= startThread();
    try {
      return await thread.call(name, args);
    } catch (error) {
      onFailure(error as Error);
      await endThread();
      throw unavailable((error as Error).message);
    }
  }

  function noteEnd(): void {
    reads -= 1;
    if (reads === 0) idle = setTimeout(endThread, limits.ops.readerIdleMs).unref();
  }

  return {
    /**
     * @param signal its abort cancels a read that has not begun
     * @throws StoreError (`unavailable`) if `limits.ops.readsMax` reads wait, or the read has failed
     */
    async read<N extends keyof Reads>(
      name: N,
      args: Parameters<Reads[N]>,
      signal?: AbortSignal,
    ): Promise<Awaited<ReturnType<Reads[N]>>> {
      if (reads > limits.ops.readsMax)
        throw unavailable(`${limits.ops.readsMax} other reads of the store wait`);
      reads += 1;
      clearTimeout(idle);
      const result = last.then(() => readNow(name, args, signal)).finally(noteEnd);
      last = result.catch(() => undefined);
      return (await result) as Awaited<ReturnType<Reads[N]>>;
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await last;
      clearTimeout(idle);
      await endThread();
    },
  };
}

function unavailable(message: string): StoreError {
  return new StoreError('unavailable', message);
}
