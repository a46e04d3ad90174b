import { limits } from '../limits.ts';

export type Throttle = (step: () => void) => void;

/**
 * Runs the first `limits.access.refusalsAtOnce` steps of a second at once, and each further step
 * after `limits.access.refusalDelayMs`. So a flood of wrong tokens waits, and valid tokens do not.
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
