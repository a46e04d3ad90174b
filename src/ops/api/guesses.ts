import { limits } from '../../limits.ts';

/**
 * Counts the wrong tokens of all callers together: behind a proxy all have one address. Nobody
 * guesses 256 bits, so a right token is admitted all the same, and nobody can keep the operators
 * out; this bounds what a program that tries can do to the log.
 */
export interface Guesses {
  /**
   * Notes a wrong one. @returns in how many milliseconds the next one counts as one of the few; 0
   * if this one does
   */
  note(): number;
}

export function countGuesses(): Guesses {
  /** When all that are at once will be there again. */
  let fullAtMs = 0;
  return {
    note() {
      const nowMs = performance.now();
      const nextFullAtMs = Math.max(fullAtMs, nowMs) + limits.ops.guessEveryMs;
      const waitMs = nextFullAtMs - nowMs - limits.ops.guessesAtOnce * limits.ops.guessEveryMs;
      if (waitMs > 0) return waitMs;
      fullAtMs = nextFullAtMs;
      return 0;
    },
  };
}
