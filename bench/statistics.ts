/** Nearest rank: the smallest value that at least `share` (0 to 1) of all values do not exceed. */
export function percentile(ascending: ArrayLike<number>, share: number): number {
  return ascending[Math.max(0, Math.ceil(share * ascending.length) - 1)] ?? Number.NaN;
}

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
