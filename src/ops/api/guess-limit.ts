import { limits } from '../../limits.ts';

/**
 * A rate limit for wrong tokens, shared by all callers: behind a proxy all have one address. A right
 * token is always admitted, so no attacker can lock the operators out. The limit bounds the log, not
 * guessing: a token has 256 random bits.
 *
 * @returns counts a wrong token: 0 within the limit; otherwise milliseconds until the next one is
 */
export function createGuessLimit(): () => number {
  const { guessEveryMs, guessesAtOnce } = limits.ops;
  /** When the whole burst is available again. */
  let fullAtMs = 0;
  return () => {
    const nowMs = performance.now();
    const nextFullAtMs = Math.max(fullAtMs, nowMs) + guessEveryMs;
    const waitMs = nextFullAtMs - nowMs - guessesAtOnce * guessEveryMs;
    if (waitMs > 0) return waitMs;
    fullAtMs = nextFullAtMs;
    return 0;
  };
}
