/**
 * Fixes of the WAL-reset bug (sqlite.org/wal.html#walresetbug), also in later versions of each
 * line.
 */
const repairedIn = [
  [3, 44, 6],
  [3, 50, 7],
] as const;
const repairedSince = [3, 51, 3] as const;

/**
 * Whether this SQLite may damage a store that two connections write and checkpoint concurrently.
 */
export function hasWalResetBug(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  const isSince = ([sinceMajor, sinceMinor, sincePatch]: readonly [number, number, number]) =>
    major !== sinceMajor
      ? major > sinceMajor
      : minor !== sinceMinor
        ? minor > sinceMinor
        : patch >= sincePatch;
  return !isSince(repairedSince) && !repairedIn.some((line) => minor === line[1] && isSince(line));
}
