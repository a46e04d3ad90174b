import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../limits.ts';
import { StoreError } from '../store/errors.ts';

/** Retries while the store is unavailable, as a client does after 503. @param onWait told once */
export async function retryWhileUnavailable<T>(
  create: () => Promise<T>,
  onWait: (why: string) => void,
  waitMs: number = limits.transfer.importWaitMs,
): Promise<T> {
  const deadline = performance.now() + waitMs;
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await create();
    } catch (error) {
      const mayPass = error instanceof StoreError && error.failure === 'unavailable';
      if (!mayPass || performance.now() > deadline) throw error;
      if (isFirst) onWait(error.message);
      await sleep(limits.transfer.importRetryMs);
    }
  }
}
