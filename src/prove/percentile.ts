/** Nearest rank: the smallest value that at least `share` (0 to 1) of all values do not exceed. */
export function percentile(ascending: ArrayLike<number>, share: number): number {
  return ascending[Math.max(0, Math.ceil(share * ascending.length) - 1)] ?? Number.NaN;
}
