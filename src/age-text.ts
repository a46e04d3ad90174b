const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** An age, or a time that is left, for people, without its fraction: `45 s`, `90 min`, `30 h` or `12 days`. */
export function ageText(ms: number): string {
  if (ms < 2 * minuteMs) return `${Math.floor(ms / 1_000)} s`;
  if (ms < 2 * hourMs) return `${Math.floor(ms / minuteMs)} min`;
  if (ms < 2 * dayMs) return `${Math.floor(ms / hourMs)} h`;
  return `${Math.floor(ms / dayMs).toLocaleString('en')} days`;
}

/** An interval in the largest unit that is exact: `90 s`, `1 h` or `7 days`. */
export function intervalText(ms: number): string {
  if (ms >= 2 * dayMs && ms % dayMs === 0) return `${ms / dayMs} days`;
  if (ms % hourMs === 0) return `${ms / hourMs} h`;
  return ms % minuteMs === 0 ? `${ms / minuteMs} min` : `${ms / 1_000} s`;
}

/** `3 min ago` or `in 3 days`. @param time ISO 8601 */
export function distanceText(time: string, nowMs: number): string {
  const ms = Date.parse(time) - nowMs;
  return ms > 0 ? `in ${ageText(ms)}` : `${ageText(-ms)} ago`;
}
