const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
const sizeUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/**
 * A number for people. What is typed, or read by a program, has no separators. `toLocaleString`
 * would take 30 ms at its first call, which is in each start.
 */
export function numberText(value: number, fractionDigits = 0): string {
  return `${Number(value.toFixed(fractionDigits))}`.replace(/(?<!\..*)\B(?=(\d{3})+\b)/g, ',');
}

/** A rate as it is typed: `100/s:500`, or `100/s` if the burst is the number of the rate. */
export function typedRate(rate: string, burst: number): string {
  return rate.startsWith(`${burst}/`) ? rate : `${rate}:${burst}`;
}

/** `1 plant` or `2 plants`. */
export function plantsText(count: number): string {
  return `${numberText(count)} ${count === 1 ? 'plant' : 'plants'}`;
}

/** An age, or a time that is left: `45 s`, `90 min`, `30 h` or `12 days`. */
export function ageText(ms: number, whole = Math.floor): string {
  if (ms < 2 * minuteMs) return `${whole(ms / 1_000)} s`;
  if (ms < 2 * hourMs) return `${whole(ms / minuteMs)} min`;
  if (ms < 2 * dayMs) return `${whole(ms / hourMs)} h`;
  return `${numberText(whole(ms / dayMs))} days`;
}

/** An interval in the largest unit that is exact: `90 s`, `1 h` or `7 days`. */
export function intervalText(ms: number): string {
  if (ms >= 2 * dayMs && ms % dayMs === 0) return `${ms / dayMs} days`;
  if (ms >= hourMs && ms % hourMs === 0) return `${ms / hourMs} h`;
  return ms >= minuteMs && ms % minuteMs === 0 ? `${ms / minuteMs} min` : `${ms / 1_000} s`;
}

/** `3 min ago` or `in 3 days`. A time to come is rounded. */
export function distanceText(time: string, nowMs: number): string {
  const ms = Date.parse(time) - nowMs;
  return ms > 0 ? `in ${ageText(ms, Math.round)}` : `${ageText(-ms)} ago`;
}

/** A size with at most three significant digits: `71.3 GiB`, `512 KiB`, `0 B`. */
export function sizeText(bytes: number): string {
  let value = bytes;
  let power = 0;
  for (; value >= 999.5 && power < sizeUnits.length - 1; power += 1) value /= 1_024;
  return `${Number(value.toPrecision(3))} ${sizeUnits[power]}`;
}

/** ISO 8601. @param ms since the epoch */
export function isoTime(ms: number): string;
export function isoTime(ms: number | undefined): string | null;
export function isoTime(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}

export const unitsPerDay = { s: 86_400, m: 1_440, h: 24, d: 1 } as const;

/** Without the burst, which `typedRate` adds if it is not the number of the rate. */
export function rateText(rate: Readonly<Record<'perDay' | 'burst', number>>): string {
  const { perDay, burst } = rate;
  const units = Object.entries(unitsPerDay);
  const [unit, inDay = 1] =
    units.find(([, many]) => perDay === burst * many) ??
    units.find(([, many]) => perDay % many === 0) ??
    [];
  return `${perDay / inDay}/${unit}`;
}
