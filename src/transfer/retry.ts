import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../limits.ts';
import { StoreError } from '../store/store.ts';

/**
 * What a client does that gets 503: it tries again for a while. A try that has failed has stored
 * nothing, or is safe to repeat.
 *
 * @param onWait told once, when the store cannot take plants now
 * @throws StoreError
 */
export async function retryWhileUnavailable<T>(
  create: () => Promise<T>,
  onWait: (why: string) => void,
  waitMs: number = limits.transfer.importWaitMs,
): Promise<T> {
  const deadline = performance.now() + waitMs;
  let isWaiting = false;
  for (;;) {
    try {
      return await create();
    } catch (error) {
      const mayPass = error instanceof StoreError && error.failure === 'unavailable';
      if (!mayPass || performance.now() > deadline) throw error;
      if (!isWaiting) onWait(error.message);
      isWaiting = true;
      await sleep(limits.transfer.importRetryMs);
    }
  }
}
