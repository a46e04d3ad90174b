// This module is loaded when a table is printed.
import stringWidth from 'fast-string-width';
import { limits } from '../../limits.ts';
import type { Terminal } from '../command.ts';
import { visible } from './screen.ts';

export interface Column<R> {
  readonly head: string;
  /**
   * A `number` is aligned to the right and never shortened. A `time` is ISO 8601 in UTC, or a word
   * such as `never`.
   */
  readonly kind: 'text' | 'number' | 'time';
  readonly cell: (row: R) => string;
}

type Kinds = readonly Column<unknown>['kind'][];
type Cells = readonly string[];

/** Prints any number of rows. */
export interface Table<R> {
  /** @returns what to wait for if the reader is slow */
  add(row: R): Promise<unknown> | undefined;
  /** Prints the rows that are not printed yet, and the head if there was no row. */
  end(): Promise<unknown> | undefined;
}

/**
 * Lines fit the width of a terminal; in a file or a pipe, cells are whole.
 * `limits.cli.tableRowsMeasured` rows at a time set the widths of the columns.
 */
export function openTable<R>(
  columns: readonly Column<R>[],
  { width, print }: Pick<Terminal, 'width' | 'print'>,
): Table<R> {
  const kinds = columns.map(({ kind }) => kind);
  const head = columns.map((column) => column.head);
  const room = width ?? Number.POSITIVE_INFINITY;
  const cellOf = (column: Column<R>, row: R) =>
    width === undefined ? column.cell(row) : brief(column, row, width);
  let rows: Cells[] = [];
  let isHeadPrinted = false;

  function end(): Promise<unknown> | undefined {
    const widths = narrowed(kinds, widest([head, ...rows]), room);
    const lineOf = (cells: Cells) => shortened(lineWith(kinds, widths, cells), room);
    let drained = isHeadPrinted ? undefined : print(lineOf(head), 'heading');
    isHeadPrinted = true;
    for (const cells of rows) drained = print(lineOf(cells)) ?? drained;
    rows = [];
    return drained;
  }

  return {
    add(row) {
      rows.push(columns.map((column) => cellOf(column, row)));
      return rows.length < limits.cli.tableRowsMeasured ? undefined : end();
    },
    end,
  };
}

export async function printTable<R>(
  columns: readonly Column<R>[],
  rows: Iterable<R>,
  terminal: Terminal,
): Promise<void> {
  const table = openTable(columns, terminal);
  for (const row of rows) await table.add(row);
  await table.end();
}

/** A cell for a terminal: at most a line, and a time without seconds. */
function brief<R>({ kind, cell }: Column<R>, row: R, width: number): string {
  if (kind === 'time') return cell(row).replace(/:[0-9.]+Z$/, 'Z');
  return shortened(visible(cell(row)), width);
}

function widest(rows: readonly Cells[]): number[] {
  return (
    rows[0]?.map((_, column) =>
      rows.reduce((most, row) => Math.max(most, stringWidth(row[column] ?? '')), 0),
    ) ?? []
  );
}

const gap = '  ';
const day = '2026-11-22'.length;
const minute = '2026-11-22T06:54Z'.length;
const never = Number.POSITIVE_INFINITY;

/** The text of the first column is what the operator types next: a name is the last to shrink. */
const firstTextMin = 24;

/**
 * The widths to which columns shrink, step by step: long text, then the time of day, then shorter
 * text. After that, the ends of lines are cut.
 */
const floors = [
  { text: 12, time: minute, number: never },
  { text: 12, time: day, number: never },
  { text: 6, time: day, number: never },
];

function narrowed(kinds: Kinds, widths: readonly number[], width: number): number[] {
  const room = width - gap.length * (widths.length - 1);
  const narrow = [...widths];
  for (const floor of floors) {
    const floorOf = (column: number) => {
      const kind = kinds[column] ?? 'text';
      return column === 0 && kind === 'text' ? firstTextMin : floor[kind];
    };
    while (narrow.reduce((sum, one) => sum + one, 0) > room) {
      const above = narrow.map((one, column) => (one > floorOf(column) ? one : 0));
      const most = Math.max(...above);
      if (most === 0) break;
      narrow[above.indexOf(most)] = most - 1;
    }
  }
  return narrow;
}

function lineWith(kinds: Kinds, widths: readonly number[], cells: Cells): string {
  const padded = cells.map((cell, column) => {
    const [kind, width = 0] = [kinds[column], widths[column]];
    const text =
      kind === 'time' ? timeWithin(cell, width) : kind === 'text' ? shortened(cell, width) : cell;
    const blank = ' '.repeat(Math.max(0, width - stringWidth(text)));
    return kind === 'number' ? blank + text : text + blank;
  });
  return padded.join(gap).trimEnd();
}

function timeWithin(cell: string, width: number): string {
  return cell.length <= width ? cell : cell.slice(0, day);
}

const graphemes = new Intl.Segmenter();

/** Code units for one column. The bound cuts endless combining marks on one letter. */
const columnCharsMax = 8;

/** As many whole graphemes as fit into `width` columns, with `…` for the rest. */
function shortened(text: string, width: number): string {
  const isBounded = text.length <= width * columnCharsMax;
  if (isBounded && stringWidth(text) <= width) return text;
  let kept = '';
  let columns = 1;
  for (const { segment } of graphemes.segment(text.slice(0, width * columnCharsMax))) {
    columns += stringWidth(segment);
    if (columns > width) break;
    kept += segment;
  }
  return `${kept}…`;
}
