import type { RecordEnds } from './record-cutter.ts';

const lineFeed = 0x0a;
const quote = 0x22;

/**
 * What may separate the cells, in the order of preference: that of RFC 4180, of spreadsheets where
 * the comma is in numbers, of copied tables.
 */
export const delimiters: readonly string[] = [',', ';', '\t'];

export interface CsvRecordEnds extends RecordEnds {
  /**
   * To be called when it is known what separates the cells; until then, all that may do so does.
   */
  setDelimiter(delimiter: string): void;
}

/**
 * Where a scan stands within a record. After a quote in a quoted cell, the cell ends, or another
 * quote follows and the two stand for one.
 */
const cellStart = 0;
const plain = 1;
const quoted = 2;
const afterQuote = 3;

/**
 * A line feed ends a record unless it is in a quoted cell (RFC 4180 §2). A quote that does not
 * begin a cell is a character like others.
 */
export function csvRecordEnds(): CsvRecordEnds {
  let codes = delimiters.map((delimiter) => delimiter.charCodeAt(0));
  let state = cellStart;
  let linesPassed = 0;

  return {
    find(chunk, from) {
      for (let at = from; at < chunk.length; at += 1) {
        const byte = chunk[at] as number;
        if (byte === lineFeed) {
          linesPassed += 1;
          if (state === quoted) continue;
          state = cellStart;
          return at;
        }
        if (state === quoted) state = byte === quote ? afterQuote : quoted;
        else if (byte === quote && state !== plain) state = quoted;
        else state = codes.includes(byte) ? cellStart : plain;
      }
      return -1;
    },
    get linesPassed() {
      return linesPassed;
    },
    setDelimiter(delimiter) {
      codes = [delimiter.charCodeAt(0)];
    },
  };
}

const textBehindQuote =
  'there is text behind the quote that ends a cell; a quote in a cell is written twice';

/**
 * The cells of a record. One that is empty and not in quotes is undefined, so that absent and empty
 * differ.
 *
 * @returns what is wrong with the record, if it is a string
 */
export function readCells(record: string, delimiter: string): (string | undefined)[] | string {
  if (!record.includes('"')) return record.split(delimiter).map((cell) => cell || undefined);
  const cells: (string | undefined)[] = [];
  for (let at = 0; ; at += 1) {
    const isQuoted = record[at] === '"';
    const end = isQuoted ? quotedEnd(record, at) : plainEnd(record, at, delimiter);
    if (end < 0) return 'a quote is opened and not closed';
    if (end < record.length && record[end] !== delimiter) return textBehindQuote;
    cells.push(
      isQuoted
        ? record.slice(at + 1, end - 1).replaceAll('""', '"')
        : record.slice(at, end) || undefined,
    );
    if (end === record.length) return cells;
    at = end;
  }
}

function plainEnd(record: string, start: number, delimiter: string): number {
  const end = record.indexOf(delimiter, start);
  return end < 0 ? record.length : end;
}

/** Behind the quote that closes the cell; -1 if none does. */
function quotedEnd(record: string, start: number): number {
  let end = record.indexOf('"', start + 1);
  while (end >= 0 && record[end + 1] === '"') end = record.indexOf('"', end + 2);
  return end < 0 ? end : end + 1;
}

/** A cell that is read back as it is. Only an absent one is empty and without quotes. */
export function writeCell(text: string | undefined): string {
  if (text === undefined) return '';
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
