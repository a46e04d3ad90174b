import type { Retention } from '../../config/values.ts';

/**
 * Chooses the backups to keep. A rule divides its time span into periods, which begin at whole
 * multiples of its interval in UTC, and keeps the newest backup of each period. The newest backup
 * of all is kept, too.
 *
 * @param timesMs when the backups were made, in milliseconds since the epoch
 */
export function keptBackups(
  timesMs: readonly number[],
  rules: Retention,
  nowMs: number,
): ReadonlySet<number> {
  const newestOfPeriods = rules.map(({ withinMs, everyMs }) => {
    const recent = timesMs.filter((timeMs) => nowMs - timeMs <= withinMs).toSorted(ascending);
    return new Map(recent.map((timeMs) => [Math.floor(timeMs / everyMs), timeMs]));
  });
  return new Set([
    Math.max(...timesMs),
    ...newestOfPeriods.flatMap((newest) => [...newest.values()]),
  ]);
}

const ascending = (one: number, other: number) => one - other;
