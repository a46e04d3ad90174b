/** A time without a zone would mean another time on another machine. */
const withZone = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/;

/** Milliseconds since the epoch of `2026-11-22T07:14:49Z`; NaN for a text that is no such time. */
export function zonedTime(text: string): number {
  return withZone.test(text) ? Date.parse(text) : Number.NaN;
}
