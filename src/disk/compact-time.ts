/** A time in the name of a file: ISO 8601 in UTC, to the second, without punctuation. */
export function compactTime(time: Date): string {
  return time.toISOString().replaceAll(/[-:]|\.[0-9]+/g, '');
}
