export const lineFeed = 0x0a;
const quote = 0x22;

/** By preference: RFC 4180, spreadsheets with decimal commas, copied tables. */
export const delimiters: readonly string[] = [',', ';', '\t'];

/** After a quote in a quoted cell, the cell ends, or a second quote follows: both are one quote. */
const [cellStart, plain, quoted, afterQuote] = [0, 1, 2, 3];

/** Tables with tabs do not quote: a quote in them is an ordinary character. */
function quotes(delimiter: string): boolean {
  return delimiter !== '\t';
}

/** A line feed outside a quoted cell ends a record (RFC 4180 §2). Other quotes are plain. */
export function csvRecordEnds() {
  let codes = delimiters.map((delimiter) => delimiter.charCodeAt(0));
  let quoteCode: number | undefined = quote;
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
    setDelimiter(delimiter: string): void {
      codes = [delimiter.charCodeAt(0)];
      if (!quotes(delimiter)) quoteCode = undefined;
    },
  };
}

/** An empty cell without quotes is undefined. @returns the fault of the record, as a string */
export function readCells(record: string, delimiter: string): (string | undefined)[] | string {
  if (!quotes(delimiter) || !record.includes('"'))
    return record.split(delimiter).map((cell) => cell || undefined);
  const cells: (string | undefined)[] = [];
  for (let at = 0; ; at += 1) {
    const isQuoted = record[at] === '"';
    const end = isQuoted ? quotedEnd(record, at) : plainEnd(record, at, delimiter);
    if (end < 0) return 'a quote is not closed';
    if (end < record.length && record[end] !== delimiter)
      return 'text follows the quote that ends a cell; write a quote in a cell twice';
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

/** The position after the closing quote; -1 without a closing quote. */
function quotedEnd(record: string, start: number): number {
  let end = record.indexOf('"', start + 1);
  while (end >= 0 && record[end + 1] === '"') end = record.indexOf('"', end + 2);
  return end < 0 ? end : end + 1;
}

/** Undefined becomes an empty cell, and the empty text a quoted cell. */
export function writeCell(text: string | undefined): string {
  if (text === undefined) return '';
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
