export const lineFeed = 0x0a;
const quote = 0x22;

export const tab = '\t';

/** By preference: RFC 4180, spreadsheets with decimal commas, copied tables. */
export const delimiters: readonly string[] = [',', ';', tab];

/** How the records of a file are cut into cells. */
export interface Dialect {
  readonly delimiter: string;
  /** Cells may be quoted. Else a quote is an ordinary character. */
  readonly quotes: boolean;
}

/** Undefined for an empty cell without quotes, and null for `\N`, the NULL in dumps of databases. */
type Cell = string | undefined | null;

/** After a quote in a quoted cell, the cell ends, or a second quote follows: both are one quote. */
const [cellStart, plain, quoted, afterQuote] = [0, 1, 2, 3];

/** A line feed outside a quoted cell ends a record (RFC 4180 §2). Other quotes are plain. */
export function csvRecordEnds(quotes: boolean) {
  let codes = delimiters.map((delimiter) => delimiter.charCodeAt(0));
  let quoteCode = quotes ? quote : undefined;
  let state = cellStart;
  let linesPassed = 0;

  return {
    find(chunk: Buffer, from: number): number {
      for (let at = from; at < chunk.length; at += 1) {
        const byte = chunk[at] as number;
        if (byte === lineFeed) {
          linesPassed += 1;
          if (state === quoted) continue;
          state = cellStart;
          return at;
        }
        if (state === quoted) state = byte === quoteCode ? afterQuote : quoted;
        else if (byte === quoteCode && state !== plain) state = quoted;
        else state = codes.includes(byte) ? cellStart : plain;
      }
      return -1;
    },
    get linesPassed() {
      return linesPassed;
    },
    /** Until this call, all `delimiters` separate cells. */
    setDialect({ delimiter, quotes }: Dialect): void {
      codes = [delimiter.charCodeAt(0)];
      if (!quotes) quoteCode = undefined;
    },
  };
}

/** @returns the fault of the record, as a string */
export function readCells(record: string, { delimiter, quotes }: Dialect): Cell[] | string {
  if (!quotes) return record.split(delimiter).map((cell) => cell || undefined);
  if (!record.includes('"')) return record.split(delimiter).map(unquoted);
  const cells: Cell[] = [];
  for (let at = 0; ; at += 1) {
    const isQuoted = record[at] === '"';
    const end = isQuoted ? quotedEnd(record, at) : plainEnd(record, at, delimiter);
    if (end < 0) return 'a quote is not closed';
    if (end < record.length && record[end] !== delimiter)
      return 'text follows the quote that ends a cell; write a quote in a cell twice';
    cells.push(
      isQuoted
        ? record.slice(at + 1, end - 1).replaceAll('""', '"')
        : unquoted(record.slice(at, end)),
    );
    if (end === record.length) return cells;
    at = end;
  }
}

function unquoted(cell: string): Cell {
  return cell === databaseNull ? null : cell || undefined;
}

const databaseNull = '\\N';

function plainEnd(record: string, start: number, delimiter: string): number {
  const end = record.indexOf(delimiter, start);
  return end < 0 ? record.length : end;
}

/** The position after the closing quote; -1 without a closing quote. */
function quotedEnd(record: string, start: number): number {
  let end = record.indexOf('"', start + 1);
  while (end >= 0 && record[end + 1] === '"') end = record.indexOf('"', end + 2);
  return end < 0 ? end : end + 1;
}

/** Undefined becomes an empty cell. The empty text and `\N` are quoted. */
export function writeCell(text: string | undefined): string {
  if (text === undefined) return '';
  const isPlain = unquoted(text) === text && !/[",\r\n]/.test(text);
  return isPlain ? text : `"${text.replaceAll('"', '""')}"`;
}
