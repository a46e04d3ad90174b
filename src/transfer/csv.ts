import { isUtf8 } from 'node:buffer';
import { excerpt } from '../contract/excerpt.ts';
import { brokenByte, type NewPlant, newPlant } from '../contract/plant.ts';
import { Refusal } from '../contract/problems.ts';
import { csvRecordEnds, delimiters, readCells, writeCell } from './csv-grammar.ts';
import { type Entry, FileError, type Format } from './format.ts';
import { createRecordCutter, type RawRecord } from './record-cutter.ts';

/**
 * CSV of RFC 4180 with a header. An empty cell without quotes is absent; a quoted empty cell is the
 * empty text. So an empty `tag` and no `tag` differ.
 */
export const csv: Format = {
  head: 'id,name,tag\r\n',
  write: ({ id, name, tag }) => `${id},${writeCell(name)},${writeCell(tag)}\r\n`,
  openReader(recordBytesMax) {
    const ends = csvRecordEnds();
    const cutter = createRecordCutter(ends, recordBytesMax);
    let columns: Columns | undefined;

    function* entries(records: Iterable<RawRecord>): Generator<Entry> {
      for (const record of records) {
        if (columns === undefined) {
          if (comesBeforeHeader.test(textOf(record.bytes))) continue;
          columns = readHeader(record);
          ends.setDelimiter(columns.delimiter);
          continue;
        }
        const plant = record.isTooLarge
          ? rowTooLarge(recordBytesMax)
          : readRow(record.bytes, columns);
        if (plant !== undefined) yield { record, plant };
      }
    }

    return {
      read: (chunk) => entries(cutter.cut(chunk)),
      *end() {
        yield* entries(cutter.rest());
        if (columns === undefined)
          throw new FileError('is empty; its first line must name the columns, as in id,name,tag');
      },
    };
  },
};

/** Positions of the columns, counted from 0. */
interface Columns {
  readonly delimiter: string;
  readonly count: number;
  readonly id: number;
  readonly name: number;
  /** -1 if there is none. */
  readonly tag: number;
}

/** A blank line, or the delimiter for Excel. The header tells the delimiter, too. */
const comesBeforeHeader = /^(?:sep=.)?\s*$/i;

/** The names of NewPlant, in any order, among other columns, and with capitals or not. */
function readHeader({ bytes, isTooLarge }: RawRecord): Columns {
  const header = textOf(bytes);
  const shown = excerpt(header);
  if (isTooLarge || header.includes('\r'))
    throw new FileError(`has line ends other than LF and CRLF; it begins with ${shown}`);
  for (const delimiter of delimiters) {
    const cells = readCells(header, delimiter);
    const names = Array.isArray(cells) ? cells.map((cell) => cell?.trim().toLowerCase()) : [];
    const [id = -1, name = -1, tag = -1] = ['id', 'name', 'tag'].map((column) =>
      names.indexOf(column),
    );
    if (id < 0 || name < 0) continue;
    const twice = ['id', 'name', 'tag'].find(
      (column) => names.indexOf(column) !== names.lastIndexOf(column),
    );
    if (twice !== undefined)
      throw new FileError(`has two columns ${twice}; its first line is ${shown}`);
    return { delimiter, count: names.length, id, name, tag };
  }
  throw new FileError(
    `must name the columns id and name in its first line, as in id,name,tag; that line is ${shown}`,
  );
}

/** @returns undefined for an empty row, such as spreadsheets write at the end */
function readRow(bytes: Buffer, columns: Columns): NewPlant | Refusal | undefined {
  if (!isUtf8(bytes)) {
    return new Refusal(
      'bodyMalformed',
      `The row is not valid UTF-8 (at byte ${brokenByte(bytes) + 1}); save the file as CSV in UTF-8.`,
    );
  }
  const cells = readCells(textOf(bytes), columns.delimiter);
  if (typeof cells === 'string')
    return new Refusal('bodyMalformed', `The row is not CSV: ${cells}.`);
  if (cells.every((cell) => !cell?.trim())) return undefined;
  if (cells.slice(columns.count).some((cell) => cell !== undefined)) {
    return new Refusal(
      'bodyMalformed',
      `The row has ${cells.length} cells and the header ${columns.count}; put text with a separator in quotes.`,
    );
  }
  const name = cells[columns.name];
  const id = readId(cells[columns.id]?.trim());
  if (id instanceof Refusal) return id;
  if (name === undefined)
    return new Refusal('notNewPlant', '`name` is empty; an empty name is written as "".');
  return newPlant(id, name, cells[columns.tag]);
}

function rowTooLarge(recordBytesMax: number): Refusal {
  return new Refusal(
    'bodyTooLarge',
    `The row takes more than ${recordBytesMax} bytes: a quote is not closed, or --body-limit is too low.`,
  );
}

function textOf(bytes: Buffer): string {
  const end = bytes.at(-1) === 0x0d ? bytes.length - 1 : bytes.length;
  return bytes.toString('utf8', 0, end);
}

/** A spreadsheet keeps 15 digits, and may write `1.0` for 1. */
const exactInteger = /^-?(?:[0-9]+|[0-9]{1,15}\.0+)$/;
const roundedInteger = /^[+-]?[0-9]+(?:\.0+|(?:[.,][0-9]+)?e\+?[0-9]+)$/i;

/** @returns a number literal for `newPlant` */
function readId(cell: string | undefined): string | Refusal {
  if (!cell) return new Refusal('notNewPlant', '`id` is empty; it must be an integer.');
  if (exactInteger.test(cell)) return cell;
  const shown = excerpt(cell);
  if (!roundedInteger.test(cell))
    return new Refusal('idNotInt64', `\`id\` must be an integer in plain digits; it is ${shown}.`);
  return new Refusal(
    'idNotInt64',
    `\`id\` is ${shown}, which a spreadsheet has rounded; format the column as text, so that no digit is lost.`,
  );
}
