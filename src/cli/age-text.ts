const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** An age for people: `45 s`, `90 min`, `30 h` or `12 days`. */
export function ageText(ms: number): string {
  if (ms < 2 * minuteMs) return `${Math.floor(ms / 1_000)} s`;
  if (ms < 2 * hourMs) return `${Math.floor(ms / minuteMs)} min`;
  if (ms < 2 * dayMs) return `${Math.floor(ms / hourMs)} h`;
  return `${Math.floor(ms / dayMs)} days`;
}

/** `3 min ago` or `in 3 days`. @param time ISO 8601 */
export function distanceText(time: string, nowMs: number): string {
  const ms = Date.parse(time) - nowMs;
  return ms > 0 ? `in ${ageText(ms)}` : `${ageText(-ms)} ago`;
}
