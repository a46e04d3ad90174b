import { type NewTally, Tally, type TokenCounts } from '../access/tally.ts';
import { limits } from '../limits.ts';

export interface TokenCounting extends Disposable {
  readonly newTally: NewTally;
}

/** Counts by token on one thread, and reports the tokens that were used, once a second at most. */
export function countByToken(report: (counts: readonly TokenCounts[]) => void): TokenCounting {
  /** Bounded by the requests of a second. */
  const changed: Tally[] = [];
  const reporting = setInterval(() => {
    if (changed.length > 0) report(changed.splice(0).map((tally) => tally.take()));
  }, limits.ops.samplesEveryMs);
  return {
    newTally: (id, name) => new Tally(id, name, changed),
    [Symbol.dispose]: () => clearInterval(reporting),
  };
}
