import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../limits.ts';

interface Reuse {
  /** From the end of the load. Default: for ever. */
  readonly forMs?: number;
  /** The same for a load that has failed. Default: the next call loads again. */
  readonly failureMs?: number;
}

/** Loads on demand. Calls share the load under way, and its result for the time given. */
export function reused<T>(
  load: () => Promise<T>,
  { forMs = Number.POSITIVE_INFINITY, failureMs = 0 }: Reuse = {},
): () => Promise<T> {
  let result: Promise<T> | undefined;
  let untilMs = Number.POSITIVE_INFINITY;
  const keepFor = (ms: number) => () => {
    untilMs = performance.now() + ms;
  };
  return () => {
    if (result !== undefined && performance.now() < untilMs) return result;
    untilMs = Number.POSITIVE_INFINITY;
    result = load();
    result.then(keepFor(forMs), keepFor(failureMs));
    return result;
  };
}

/** Undefined after a failure or `limits.ops.storeFiguresMs`: operators still see all else. */
export function bestEffort<T>(read: Promise<T>): Promise<T | undefined> {
  const late = delay(limits.ops.storeFiguresMs, undefined, { ref: false });
  return Promise.race([read, late]).catch(() => undefined);
}
