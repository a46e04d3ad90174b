import { sleep } from './signals.ts';

/** Failures in a row, of all creates of a client, after which the service counts as ill. */
const failuresMax = 10;
const retryEveryMs = 250;

const backoffMs = 100;
const backoffMsMax = 5_000;

/** Full jitter: a random pause up to a bound, which doubles with each attempt. */
export function pauseMs(attempts: number): number {
  return Math.random() * Math.min(backoffMsMax, backoffMs * 2 ** (attempts - 1));
}

export type RetryBudget = ReturnType<typeof createRetryBudget>;

/** What the retries of a client share, so that many creates do not finish off an ill service. */
export function createRetryBudget() {
  let failures = 0;
  let nextMs = 0;
  return {
    /** Called after each attempt. */
    note(isStored: boolean): void {
      failures = isStored ? 0 : failures + 1;
    },
    /**
     * Resolves when a retry may be sent. While the service is ill, that is one retry each
     * `retryEveryMs`, for all creates; the first stored plant ends that. Resolves, too, when the
     * signal is aborted.
     */
    async takeTurn(signal: AbortSignal): Promise<void> {
      while (failures >= failuresMax && !signal.aborted) {
        const waitMs = nextMs - performance.now();
        if (waitMs <= 0) {
          nextMs = performance.now() + retryEveryMs;
          return;
        }
        await sleep(waitMs * (1 + Math.random()), signal);
      }
    },
  };
}
