import type { Retention } from '../../config/values.ts';

/**
 * Chooses the backups to keep. A rule divides its time span before the newest backup into periods,
 * which begin at whole multiples of its interval in UTC, and keeps the newest backup of each period.
 * The newest backup of all is kept, too.
 *
 * @param timesMs when the backups were made, in milliseconds since the epoch
 */
export function keptBackups(
  timesMs: readonly number[],
  rules: Retention,
  newestMs: number,
): ReadonlySet<number> {
  const newestOfPeriods = rules.map(({ withinMs, everyMs }) => {
    const recent = timesMs.filter((timeMs) => newestMs - timeMs <= withinMs).toSorted(ascending);
    return new Map(recent.map((timeMs) => [Math.floor(timeMs / everyMs), timeMs]));
  });
  return new Set([newestMs, ...newestOfPeriods.flatMap((newest) => [...newest.values()])]);
}

const ascending = (one: number, other: number) => one - other;
