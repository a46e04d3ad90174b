const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** As on the command line: `1,234`. */
export function count(value: number, fractionDigits = 0): string {
  return new Intl.NumberFormat('en', { maximumFractionDigits: fractionDigits }).format(value);
}

export function plantsText(plants: number): string {
  return plants === 1 ? '1 plant' : `${plants === 0 ? 'No' : count(plants)} plants`;
}

/** Three significant digits. */
export function figure(value: number): string {
  if (value >= 100) return count(value);
  return count(value, value >= 10 ? 1 : 2);
}

/** For an axis: 12K. */
export function short(value: number): string {
  return new Intl.NumberFormat('en', { notation: 'compact' }).format(value);
}

/** In the time zone of the browser: `2026-11-22 07:14:49 UTC+1`. */
export function localTime(time: string): string {
  return `${localMoment(time)} ${zoneAt(time)}`;
}

/** In the time zone of the browser, without the zone: `2026-11-22 07:14:49`. */
export function localMoment(time: string): string {
  return new Date(time).toLocaleString('sv-SE');
}

/** `2026-11-22 06:14:49 UTC`. */
export function utcTime(time: string): string {
  return `${new Date(time).toLocaleString('sv-SE', { timeZone: 'UTC' })} UTC`;
}

/** Distance of the browser's time zone from UTC at that time: `UTC+1`. */
export function zoneAt(time: string): string {
  const zone = new Intl.DateTimeFormat('en', { timeZoneName: 'shortOffset' })
    .formatToParts(new Date(time))
    .find(({ type }) => type === 'timeZoneName');
  return (zone?.value ?? '').replace('GMT', 'UTC');
}

export function zoneNow(): string {
  return zoneAt(new Date().toISOString());
}

export function clockTime(ms: number): string {
  return new Date(ms).toLocaleTimeString('sv-SE');
}

/** Distance from now: `3 h ago` or `in 5 days`. No line ends between the number and its unit. */
export function distance(time: string): string {
  const awayMs = Date.parse(time) - Date.now();
  const length = duration(Math.abs(awayMs)).replace(' ', '\u00a0');
  return awayMs > 0 ? `in ${length}` : `${length} ago`;
}

/** How long something took: `1.88 s`, or as `spanText` from a minute on. */
export function lengthText(seconds: number): string {
  return seconds < 60 ? `${figure(seconds)} s` : spanText(seconds);
}

/** `45 s`, `1 h` or `7 days`: as exact as the unit. */
export function spanText(seconds: number): string {
  return duration(seconds * 1_000);
}

function duration(ms: number): string {
  if (ms < minuteMs) return `${Math.floor(ms / 1_000)} s`;
  if (ms < hourMs) return `${Math.floor(ms / minuteMs)} min`;
  if (ms < 2 * dayMs) return `${Math.floor(ms / hourMs)} h`;
  return `${count(Math.round(ms / dayMs))} days`;
}
