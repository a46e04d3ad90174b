import { limits } from '../limits.ts';

/** Does a step at once or a little later. */
export type Throttle = (step: () => void) => void;

/**
 * Of the steps of a second, the first `limits.access.refusalsAtOnce` are done at once, and each one
 * after them waits for `limits.access.refusalDelayMs`: so a client that tries tokens without end
 * waits, instead of those that have one.
 */
export function createThrottle(): Throttle {
  let secondEndsAtMs = 0;
  let done = 0;
  return (step) => {
    const nowMs = performance.now();
    if (nowMs >= secondEndsAtMs) {
      secondEndsAtMs = nowMs + 1_000;
      done = 0;
    }
    done += 1;
    if (done <= limits.access.refusalsAtOnce) step();
    else setTimeout(step, limits.access.refusalDelayMs);
  };
}
