// This module is loaded when a table is printed.
import stringWidth from 'fast-string-width';
import { limits } from '../../limits.ts';
import type { Terminal } from '../command.ts';
import { visible } from './screen.ts';
import { hanging, wordsIn, wrapped } from './wrap.ts';

export interface Column<R> {
  readonly head: string;
  /**
   * - `text` is shortened where it does not fit.
   * - `words` go on in the next line.
   * - `whole` text and a `number` stay as they are. A `number` is aligned to the right.
   * - A `time` may lose its time of day. It is ISO 8601 in UTC, or a word such as `never`.
   */
  readonly kind: 'text' | 'words' | 'whole' | 'number' | 'time';
  readonly cell: (row: R) => string;
}

type Kind = Column<unknown>['kind'];
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
 * `limits.cli.tableRowsMeasured` rows at a time set the widths of the columns. A terminal that is too
 * narrow for the columns gets each row as a block of names and values.
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
  let isBegun = false;
  let isInBlocks = false;

  function end(): Promise<unknown> | undefined {
    const widths = narrowed(kinds, head, rows, room);
    isInBlocks ||= charsOf(widths) > room;
    let drained: Promise<unknown> | undefined;
    if (isInBlocks) drained = printBlocks();
    else for (const [line, style] of lines(widths)) drained = print(line, style) ?? drained;
    isBegun = true;
    rows = [];
    return drained;
  }

  function* lines(widths: readonly number[]) {
    // The head is cut nowhere.
    const headKinds = kinds.map((kind) => (kind === 'number' ? kind : 'words'));
    if (!isBegun)
      for (const line of linesWith(headKinds, widths, head)) yield [line, 'heading'] as const;
    for (const cells of rows)
      for (const line of linesWith(kinds, widths, cells)) yield [line, undefined] as const;
  }

  function printBlocks(): Promise<unknown> | undefined {
    let drained: Promise<unknown> | undefined;
    for (const cells of rows) {
      if (isBegun) drained = print('') ?? drained;
      isBegun = true;
      for (const line of blockOf(kinds, head, cells, room)) drained = print(line) ?? drained;
    }
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

/** Whether a terminal of this width shows each row as one line, with every cell in full. */
export function fits<R>(columns: readonly Column<R>[], rows: readonly R[], width: number): boolean {
  const cells = rows.map((row) => columns.map((column) => brief(column, row, width)));
  // The head of figures may take two lines.
  const head = columns.map(({ head, kind }) => (kind === 'number' ? longestWordOf(head) : head));
  return charsOf(naturalWidths(head, cells)) <= width;
}

/** Whether a terminal of this width shows rows as lines, and not as blocks. */
export function isInLines<R>(
  columns: readonly Column<R>[],
  rows: readonly R[],
  width: number,
): boolean {
  const kinds = columns.map(({ kind }) => kind);
  const head = columns.map((column) => column.head);
  const cells = rows.map((row) => columns.map((column) => brief(column, row, width)));
  return charsOf(narrowed(kinds, head, cells, width)) <= width;
}

/** @returns the columns, and the further ones if the table still fits. A file has room for all. */
export function withRoomFor<R>(
  more: readonly Column<R>[],
  columns: readonly Column<R>[],
  rows: readonly R[],
  width: number | undefined,
): readonly Column<R>[] {
  const all = [...columns, ...more];
  return width === undefined || fits(all, rows, width) ? all : columns;
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

/** A cell for a terminal: a time without seconds, and text of at most a line. */
function brief<R>({ kind, cell }: Column<R>, row: R, width: number): string {
  if (kind === 'time') return cell(row).replace(/:[0-9.]+Z$/, 'Z');
  return kind === 'text' ? shortened(visible(cell(row)), width) : visible(cell(row));
}

const gap = '  ';
const day = '2026-11-22'.length;
const minute = '2026-11-22T06:54Z'.length;
const never = Number.POSITIVE_INFINITY;

/**
 * The widths to which columns shrink, step by step: long text, then the time of day, then shorter
 * text, and last the text of the first column, which is what the operator types next: a name.
 */
const floors = [
  { first: never, text: 12, words: 24, time: minute },
  { first: never, text: 12, words: 0, time: day },
  { first: never, text: 6, words: 0, time: day },
  { first: 24, text: 6, words: 0, time: day },
];

function naturalWidths(head: Cells, rows: readonly Cells[]): number[] {
  return head.map((name, column) => Math.max(stringWidth(name), widest(rows, column, stringWidth)));
}

function widest(rows: readonly Cells[], column: number, widthOf: (cell: string) => number): number {
  return rows.reduce((most, row) => Math.max(most, widthOf(row[column] ?? '')), 0);
}

/** The widths of the columns. They may be too wide for the room. */
function narrowed(
  kinds: readonly Kind[],
  head: Cells,
  rows: readonly Cells[],
  room: number,
): number[] {
  const widths = naturalWidths(head, rows);
  if (charsOf(widths) <= room) return widths;
  /** Below this width, a head, a word or a figure would be cut. */
  const least = kinds.map((kind, column) => {
    const ofCells = { text: () => 0, time: () => 0, words: longestWord };
    const widthOf = kind === 'number' || kind === 'whole' ? stringWidth : ofCells[kind];
    return Math.max(longestWord(head[column] ?? ''), widest(rows, column, widthOf));
  });
  for (const floor of floors) {
    const floorOf = (kind: Kind, column: number) => {
      const of = kind === 'number' || kind === 'whole' ? 0 : floor[kind];
      return Math.max(least[column] ?? 0, column === 0 && kind === 'text' ? floor.first : of);
    };
    const lowest = kinds.map(floorOf);
    while (charsOf(widths) > room) {
      const above = widths.map((one, column) => (one > (lowest[column] ?? 0) ? one : 0));
      const most = Math.max(...above);
      if (most === 0) break;
      widths[above.indexOf(most)] = most - 1;
    }
  }
  return widths;
}

function charsOf(widths: readonly number[]): number {
  return widths.reduce((sum, one) => sum + one, gap.length * (widths.length - 1));
}

function longestWord(text: string): number {
  return stringWidth(longestWordOf(text));
}

function longestWordOf(text: string): string {
  return wordsIn(text).reduce(
    (one, other) => (stringWidth(other) > stringWidth(one) ? other : one),
    '',
  );
}

/** The lines of a row: as many as its highest cell has. */
function linesWith(kinds: readonly Kind[], widths: readonly number[], cells: Cells): string[] {
  const columns = cells.map((cell, column) =>
    linesOf(kinds[column] ?? 'text', cell, widths[column] ?? 0),
  );
  const height = Math.max(...columns.map((lines) => lines.length));
  return Array.from({ length: height }, (_, index) =>
    columns
      .map((lines, column) => {
        const text = lines[index] ?? '';
        const blank = ' '.repeat(Math.max(0, (widths[column] ?? 0) - stringWidth(text)));
        return kinds[column] === 'number' ? blank + text : text + blank;
      })
      .join(gap)
      .trimEnd(),
  );
}

/** A line for each name with a value. */
function blockOf(kinds: readonly Kind[], names: Cells, cells: Cells, room: number): string[] {
  const indent = Math.max(...names.map((name) => name.length)) + gap.length;
  return cells.flatMap((cell, column) => {
    if (cell === '') return [];
    const [kind, name = ''] = [kinds[column], names[column]];
    if (kind === 'words') return hanging(name, cell, indent, room);
    return [name.padEnd(indent) + (kind === 'text' ? shortened(cell, room - indent) : cell)];
  });
}

function linesOf(kind: Kind, cell: string, width: number): string[] {
  if (kind === 'text') return [shortened(cell, width)];
  if (stringWidth(cell) <= width) return [cell];
  return kind === 'time' ? [cell.slice(0, day)] : wrapped(cell, width);
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
