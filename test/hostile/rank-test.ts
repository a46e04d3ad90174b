/**
 * How far two samples are from being of one kind, in standard deviations: the z of the Mann-Whitney
 * U test, positive where the first tends to be the larger one. Ranks care about no single outlier,
 * so a pause of the machine counts like any other slow try.
 */
export function rankTestZ(first: readonly number[], second: readonly number[]): number {
  const [n, m] = [first.length, second.length];
  const all = [
    ...first.map((value) => ({ value, isFirst: true })),
    ...second.map((value) => ({ value, isFirst: false })),
  ];
  all.sort((a, b) => a.value - b.value);
  let rankSum = 0;
  let ties = 0;
  for (let start = 0, end = 0; start < all.length; start = end) {
    while (end < all.length && all[end]?.value === all[start]?.value) end += 1;
    const firsts = all.slice(start, end).filter(({ isFirst }) => isFirst).length;
    rankSum += (firsts * (start + 1 + end)) / 2;
    ties += (end - start) ** 3 - (end - start);
  }
  const total = n + m;
  const variance = ((n * m) / 12) * (total + 1 - ties / (total * (total - 1)));
  return (rankSum - (n * (total + 1)) / 2) / Math.sqrt(variance);
}
