// This module is loaded when a table is printed.
import stringWidth from 'fast-string-width';
import { limits } from '../../limits.ts';
import type { Terminal } from '../command.ts';
import { visible } from './screen.ts';

export interface Column<R> {
  readonly head: string;
  /** A number is aligned to the right. Any other cell is shortened on a terminal. */
  readonly kind?: 'number';
  readonly cell: (row: R) => string;
}

export interface Table<R> {
  /** @returns what to wait for if the reader is slow */
  add(row: R): Promise<unknown> | undefined;
  /** Prints the rows that are not printed yet, and the head if there was no row. */
  end(): Promise<unknown> | undefined;
}

/** `limits.cli.tableRowsMeasured` rows at a time set the widths of the columns. */
export function openTable<R>(
  columns: readonly Column<R>[],
  { width, print }: Pick<Terminal, 'width' | 'print'>,
): Table<R> {
  const heads = columns.map(({ head }) => head);
  let rows: (readonly string[])[] = [];
  let isBegun = false;

  function end(): Promise<unknown> | undefined {
    const widths = heads.map((head, column) =>
      rows.reduce((most, row) => Math.max(most, stringWidth(row[column] ?? '')), head.length),
    );
    const lineOf = (cells: readonly string[]) =>
      cells
        .map((cell, column) => {
          const blank = ' '.repeat((widths[column] ?? 0) - stringWidth(cell));
          return columns[column]?.kind === 'number' ? blank + cell : cell + blank;
        })
        .join('  ')
        .trimEnd();
    let drained = isBegun ? undefined : print(lineOf(heads), 'heading');
    for (const row of rows) drained = print(lineOf(row)) ?? drained;
    isBegun = true;
    rows = [];
    return drained;
  }

  return {
    add(row) {
      rows.push(
        columns.map(({ kind, cell }) => {
          const text = cell(row);
          return width !== undefined && kind !== 'number' ? shortened(visible(text)) : text;
        }),
      );
      return rows.length < limits.cli.tableRowsMeasured ? undefined : end();
    },
    end,
  };
}

const graphemes = new Intl.Segmenter();

/** As many whole graphemes as fit into `limits.cli.cellCharsMax`, with `…` for the rest. */
function shortened(text: string): string {
  const { cellCharsMax } = limits.cli;
  if (text.length <= cellCharsMax) return text;
  const kept = [...graphemes.segment(text.slice(0, cellCharsMax + 1))].slice(0, -1);
  return `${kept.map(({ segment }) => segment).join('')}…`;
}
