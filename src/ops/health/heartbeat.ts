import { limits } from '../../limits.ts';

export interface Heartbeat extends Disposable {
  /** How long ago the last one began that has been stored; undefined before the first. */
  ageMs(): number | undefined;
  /** How many have failed since then, and why the last one has. */
  failures(): { readonly count: number; readonly reason: string } | undefined;
}

/**
 * Writes to the store every `limits.ops.heartbeatEveryMs`, so that it is known that it takes writes
 * also when nobody creates plants, and sooner after a failure. The next one waits for the last, so
 * a store that hangs is asked once.
 *
 * @param beat resolves when it is durable
 */
export function startHeartbeat(beat: () => Promise<void>): Heartbeat {
  let lastMs: number | undefined;
  let failures: ReturnType<Heartbeat['failures']>;
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
    const everyMs =
      failures === undefined ? limits.ops.heartbeatEveryMs : limits.ops.heartbeatRetryMs;
    next = setTimeout(beatOnce, Math.max(0, startedMs + everyMs - performance.now()));
  }

  void beatOnce();
  return {
    ageMs: () => (lastMs === undefined ? undefined : performance.now() - lastMs),
    failures: () => failures,
    [Symbol.dispose]() {
      isOver = true;
      clearTimeout(next);
    },
  };
}
