import { percentile } from '../src/percentile.ts';

/** A figure over the rounds of a run. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** Null when there is nothing to take the spread of. */
export function spread(values: Iterable<number | null | undefined>): Spread | null {
  const ascending = [...values].filter((value) => typeof value === 'number').sort((a, b) => a - b);
  if (ascending.length === 0) return null;
  return {
    median: (percentile(ascending, 0.5) + percentile(ascending.toReversed(), 0.5)) / 2,
    min: percentile(ascending, 0),
    max: percentile(ascending, 1),
  };
}
