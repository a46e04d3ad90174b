const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Digits in threes, apart by a thin space. */
export function count(value: number, fractionDigits = 0): string {
  const format = new Intl.NumberFormat('en', { maximumFractionDigits: fractionDigits });
  return format.format(value).replaceAll(',', '\u202f');
}

/** Three digits that count. */
export function figure(value: number): string {
  if (value >= 100) return count(value);
  return count(value, value >= 10 ? 1 : 2);
}

/** For an axis: 12K. */
export function short(value: number): string {
  return new Intl.NumberFormat('en', { notation: 'compact' }).format(value);
}

const sizeUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/**
 * `71.3 GiB`: as everything outside the page spells a size (src/size-text.ts). A test compares the
 * two.
 */
export function sizeText(bytes: number): string {
  let value = bytes;
  let power = 0;
  for (; value >= 999.5 && power < sizeUnits.length - 1; power += 1) value /= 1_024;
  return `${Number(value.toPrecision(3))} ${sizeUnits[power]}`;
}

/** In the time zone of the browser, as 2026-11-22 07:14:49. */
export function localTime(time: string | number): string {
  return new Date(time).toLocaleString('sv-SE');
}

export function clockTime(ms: number): string {
  return new Date(ms).toLocaleTimeString('sv-SE');
}

/** How far away a time is: `3 h ago` or `in 5 days`. */
export function distance(time: string, nowMs = Date.now()): string {
  const awayMs = Date.parse(time) - nowMs;
  const length = duration(Math.abs(awayMs));
  return awayMs > 0 ? `in ${length}` : `${length} ago`;
}

function duration(ms: number): string {
  if (ms < minuteMs) return `${Math.floor(ms / 1_000)} s`;
  if (ms < hourMs) return `${Math.floor(ms / minuteMs)} min`;
  if (ms < 2 * dayMs) return `${Math.floor(ms / hourMs)} h`;
  return `${count(Math.round(ms / dayMs))} days`;
}
