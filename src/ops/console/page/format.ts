import { ageText, distanceText } from '../../../age-text.ts';

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

/** `06:14:49 UTC`, with the date if it is another day in UTC. */
export function utcBeside(time: string): string {
  const [date = '', clock] = utcTime(time).split(/ (.*)/);
  return localMoment(time).startsWith(date) ? `${clock}` : utcTime(time);
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

/** The hour of a moment, in the time zone of the browser. */
export function startOfHour(atMs: number): number {
  return new Date(atMs).setMinutes(0, 0, 0);
}

/** A minute of the clock: `07:14`. */
export function minuteClock(ms: number): string {
  return clockTime(ms).slice(0, 'hh:mm'.length);
}

/** Distance from now: `3 h ago` or `in 5 days`. */
export function distance(time: string): string {
  return withUnit(distanceText(time, Date.now()));
}

/** How long something took: `1.88 s`, or from two minutes on as an age. */
export function lengthText(seconds: number): string {
  return withUnit(seconds < 120 ? `${figure(seconds)} s` : ageText(seconds * 1_000));
}

/** No line ends between a number and its unit. */
function withUnit(text: string): string {
  return text.replace(/(?<=\d) /, '\u00a0');
}
