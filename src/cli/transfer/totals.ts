import type { Terminal } from '../command.ts';
import type { LeftOut } from './file-format.ts';

/** Prints the outcomes of many creates, a line each, or all as one line of JSON. */
export function printTotals(
  totals: Readonly<Record<string, number>>,
  refusedByCode: ReadonlyMap<number, number>,
  leftOut: LeftOut,
  json: boolean,
  { print, note }: Terminal,
): void {
  if (json) {
    print(
      JSON.stringify({ ...totals, refusedByCode: Object.fromEntries(refusedByCode), ...leftOut }),
    );
    return;
  }
  const byCode = [...refusedByCode]
    .sort(([a], [b]) => a - b)
    .map(([code, count]) => [`refused ${code}`, count] as const);
  const lines = [...Object.entries(totals), ...byCode];
  const nameChars = Math.max('refused 40000'.length, ...lines.map(([name]) => name.length));
  for (const [name, count] of lines) print(`${name.padEnd(nameChars)}  ${count}`);
  if (leftOut.rowsWithoutTag !== undefined)
    note(
      `Rows that end before the column of the tag: ${leftOut.rowsWithoutTag}. Their plants ` +
        'have no tag.',
    );
}
