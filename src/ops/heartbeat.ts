import { limits } from '../limits.ts';

export interface Heartbeat extends Disposable {
  /** How long ago the last one began that has been stored; undefined before the first. */
  ageMs(): number | undefined;
}

/**
 * Writes to the store every `limits.heartbeatEveryMs`, so that it is known that it takes writes also when nobody creates plants. The next
 * one waits for the last, so a store that hangs is asked once.
 *
 * @param beat resolves when it is durable
 */
export function startHeartbeat(beat: () => Promise<void>): Heartbeat {
  let lastMs: number | undefined;
  let isBeating = false;

  async function beatOnce(): Promise<void> {
    if (isBeating) return;
    isBeating = true;
    const startedMs = performance.now();
    await beat().then(
      () => (lastMs = startedMs),
      // Its age tells; the writer logs what keeps it from writing.
      () => undefined,
    );
    isBeating = false;
  }

  void beatOnce();
  const beating = setInterval(beatOnce, limits.heartbeatEveryMs);
  return {
    ageMs: () => (lastMs === undefined ? undefined : performance.now() - lastMs),
    [Symbol.dispose]: () => clearInterval(beating),
  };
}
