import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../limits.ts';

/** Runs `load` once; later calls share the result for `forMs` from its end, but no failure. */
export function reused<T>(
  load: () => Promise<T>,
  forMs = Number.POSITIVE_INFINITY,
): () => Promise<T> {
  let result: Promise<T> | undefined;
  let untilMs = 0;
  const keepFor = (ms: number) => () => {
    untilMs = performance.now() + ms;
  };
  return () => {
    if (result !== undefined && performance.now() < untilMs) return result;
    untilMs = Number.POSITIVE_INFINITY;
    result = load();
    result.then(keepFor(forMs), keepFor(0));
    return result;
  };
}

/** Undefined after a failure or `limits.ops.storeFiguresMs`: operators still see all else. */
export function bestEffort<T>(read: Promise<T>): Promise<T | undefined> {
  const late = delay(limits.ops.storeFiguresMs, undefined, { ref: false });
  return Promise.race([read, late]).catch(() => undefined);
}
