import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../../limits.ts';

export type Heartbeat = ReturnType<typeof startHeartbeat>;

/** Tests a part of the service at an interval, also while no client creates plants. */
export function startHeartbeat(beat: () => Promise<void>) {
  const { heartbeatEveryMs, heartbeatRetryMs, heartbeatStaleMs } = limits.ops;
  let lastMs: number | undefined;
  let failures: { readonly count: number; readonly reason: string } | undefined;
  let next: NodeJS.Timeout | undefined;
  let isOver = false;

  async function beatOnce(): Promise<void> {
    const startedMs = performance.now();
    await beat().then(
      () => {
        lastMs = startedMs;
        failures = undefined;
      },
      (error: Error) => {
        failures = { count: (failures?.count ?? 0) + 1, reason: error.message };
      },
    );
    if (isOver) return;
    const everyMs = failures === undefined ? heartbeatEveryMs : heartbeatRetryMs;
    next = setTimeout(beatOnce, Math.max(0, startedMs + everyMs - performance.now()));
  }

  const begun = Promise.race([beatOnce(), delay(heartbeatStaleMs, undefined, { ref: false })]);
  return {
    /** Resolves after the first test, good or not, or after `limits.ops.heartbeatStaleMs`. */
    begun,
    /** Since the start of the last good test; undefined before the first. */
    ageMs: () => (lastMs === undefined ? undefined : performance.now() - lastMs),
    failures: () => failures,
    [Symbol.dispose]() {
      isOver = true;
      clearTimeout(next);
    },
  };
}
