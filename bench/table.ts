/** Tables for a terminal. */
import type { Spread } from './statistics.ts';
import { numberText } from './text.ts';

/** Columns as wide as their widest cell; those that hold numbers are aligned right. */
export function renderTable(rows: string[][]): string {
  const columns = (rows[0] ?? []).map((_, column) => {
    const cells = rows.map((row) => row[column] ?? '');
    return {
      width: Math.max(...cells.map((cell) => cell.length)),
      isNumber: cells.slice(1).every(isNumberCell),
    };
  });
  const line = (row: string[]) =>
    columns.map(({ width, isNumber }, column) => {
      const cell = row[column] ?? '';
      return isNumber && column > 0 ? cell.padStart(width) : cell.padEnd(width);
    });
  return rows.map((row) => line(row).join('  ').trimEnd()).join('\n');
}

/** What was measured, and how: a name and a text on each line. */
export function renderFacts(facts: [name: string, value: string][]): string {
  const width = Math.max(...facts.map(([name]) => name.length));
  return facts.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
}

function isNumberCell(cell: string): boolean {
  return /^[\d-]/.test(cell);
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
