import type { Terminal } from '../command.ts';

/** Prints the outcomes of many creates, a line each, or all as one line of JSON. */
export function printTotals(
  totals: Readonly<Record<string, number>>,
  refusedByCode: ReadonlyMap<number, number>,
  json: boolean,
  { print }: Terminal,
): void {
  if (json) {
    print(JSON.stringify({ ...totals, refusedByCode: Object.fromEntries(refusedByCode) }));
    return;
  }
  const byCode = [...refusedByCode]
    .sort(([a], [b]) => a - b)
    .map(([code, count]) => [`refused ${code}`, count] as const);
  for (const [name, count] of [...Object.entries(totals), ...byCode])
    print(`${name.padEnd('refused 40000'.length)}  ${count}`);
}
