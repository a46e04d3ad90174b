import { distanceText } from '../../../age-text.ts';
import type { Minute } from '../../../ops/contract.ts';

/** A time to the minute. */
export function isoMinute(ms: number): string {
  return new Date(ms).toISOString().replace(':00.000Z', 'Z');
}

/** The p99 is interpolated: more than three digits say nothing. */
export function slowestIn(minute: Minute | undefined) {
  if (minute?.p99Ms == null) return undefined;
  return { at: isoMinute(minute.atMs), p99Ms: Number(minute.p99Ms.toPrecision(3)) };
}

export function timeAndAge(time: string): string {
  return `${time}, ${distanceText(time, Date.now())}`;
}
