import { limits } from '../../limits.ts';

/** When a backup was made, in milliseconds since the epoch. */
export interface MadeAt {
  /** By the clock, which may have been wrong. */
  readonly clockMs: number;
  /** In its series; see `nextInSeries`. */
  readonly seriesMs: number;
}

/**
 * Gives the next backup of a series its time, which only grows: the order and the ages of backups
 * follow it, and no single reading of the clock. A step of the clock back, or far ahead, counts as a
 * usual step. A step is far if it is more than twice as long as usual: a machine that was off looks
 * the same, and then backups are kept for longer.
 *
 * @param series oldest first
 */
export function nextInSeries(
  series: readonly MadeAt[],
  clockMs: number,
): MadeAt & { readonly isFar: boolean } {
  const last = series.at(-1);
  if (last === undefined) return { clockMs, seriesMs: clockMs, isFar: false };
  const stepMs = clockMs - last.clockMs;
  const usualMs = usualStepMs(series);
  const isFar = stepMs > Math.max(limits.backup.usualStepMs, 2 * usualMs);
  const countedMs = isFar || stepMs <= 0 ? usualMs : stepMs;
  return { clockMs, seriesMs: last.seriesMs + countedMs, isFar };
}

/** The median of the last three: one wrong reading makes two of them wrong, one far and one back. */
function usualStepMs(series: readonly MadeAt[]): number {
  const recent = series.slice(-4).map(({ clockMs }) => clockMs);
  const steps = recent.slice(1).map((clockMs, index) => clockMs - Number(recent[index]));
  const median = steps.toSorted((one, other) => one - other)[Math.floor((steps.length - 1) / 2)];
  return median !== undefined && median > 0 ? median : limits.backup.usualStepMs;
}
