/** Tables for a terminal. */
import { type Spread, spread } from './statistics.ts';
import { numberText } from './text.ts';

/** `unit` is the size of the unit that the cells show, such as 1e6 for bytes as MB. */
type Column<T> = [
  head: string,
  decimals: number,
  of: (measurement: T) => number | null | undefined,
  unit?: number,
];

export type Row<T> = [label: string, measurements: T[]];

/** A row for each list of measurements. Each cell is the spread of one of their values. */
export function renderSpreads<T>(title: string, rows: Row<T>[], columns: Column<T>[]): string {
  const body = rows.map(([label, own]) => [
    label,
    ...columns.map(([, decimals, of, unit]) => spreadText(spread(own.map(of)), decimals, unit)),
  ]);
  return renderTable([[title, ...columns.map(([head]) => head)], ...body]);
}

/** Each column is as wide as its widest cell. Columns of numbers are aligned right. */
export function renderTable(rows: string[][]): string {
  const columns = (rows[0] ?? []).map((_, column) => {
    const cells = rows.map((row) => row[column] ?? '');
    return {
      width: Math.max(...cells.map((cell) => cell.length)),
      isNumber: column > 0 && cells.slice(1).every((cell) => /^[\d-]/.test(cell)),
    };
  });
  const line = (row: string[]) =>
    columns.map(({ width, isNumber }, column) => {
      const cell = row[column] ?? '';
      return isNumber ? cell.padStart(width) : cell.padEnd(width);
    });
  return rows.map((row) => line(row).join('  ').trimEnd()).join('\n');
}

/** The conditions of a measurement: a name and a text on each line. */
export function renderFacts(facts: Record<string, string>): string {
  const width = Math.max(...Object.keys(facts).map((name) => name.length));
  const lines = Object.entries(facts).map(([name, text]) => `${name.padEnd(width)}  ${text}`);
  return lines.join('\n');
}

export function spreadText(value: Spread | null, decimals: number, unit = 1): string {
  if (value === null) return '-';
  const [median, min, max] = [value.median, value.min, value.max].map((part) =>
    numberText(part / unit, decimals),
  );
  return value.min === value.max ? `${median}` : `${median} (${min} to ${max})`;
}

export function percentText(share: number): string {
  return `${Math.round(share * 100)} %`;
}
