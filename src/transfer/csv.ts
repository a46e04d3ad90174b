import { isUtf8 } from 'node:buffer';
import { excerpt } from '../contract/excerpt.ts';
import { type NewPlant, newPlant } from '../contract/plant.ts';
import { Refusal } from '../contract/problems.ts';
import { csvRecordEnds, delimiters, lineFeed, readCells, writeCell } from './csv-grammar.ts';
import { type ColumnTitles, type Entry, FileError, type Format } from './format.ts';
import { createRecordCutter, type RawRecord } from './record-cutter.ts';

/** RFC 4180 with a header. An empty cell without quotes is absent; a quoted one is empty text. */
export const csv: Format = {
  head: (hasDetails) => `id,name,tag${hasDetails ? ',createdAt,createdBy' : ''}\r\n`,
  write({ id, name, tag }, details) {
    const more = details && `,${details.createdAt},${writeCell(details.createdBy)}`;
    return `${id},${writeCell(name)},${writeCell(tag)}${more ?? ''}\r\n`;
  },
  openReader(recordBytesMax, { titles = {}, onHeader, onJoinedLines } = {}) {
    const ends = csvRecordEnds();
    const cutter = createRecordCutter(ends, recordBytesMax);
    let columns: Columns | undefined;

    function* entries(records: Iterable<RawRecord>, hasLineEnd: boolean): Generator<Entry> {
      for (const record of records) {
        if (columns === undefined) {
          if (comesBeforeHeader.test(textOf(record.bytes))) continue;
          columns = readHeader(record, titles);
          ends.setDelimiter(columns.delimiter);
          onHeader?.(columns.unread, columns.tag >= 0);
          continue;
        }
        const plant = record.isTooLarge
          ? rowTooLarge(recordBytesMax)
          : readRow(record.bytes, columns, hasLineEnd);
        if (plant === undefined) continue;
        if (!(plant instanceof Refusal) && record.bytes.includes(lineFeed))
          onJoinedLines?.(record.line);
        yield { record, plant };
      }
    }

    return {
      read: (chunk) => entries(cutter.cut(chunk), true),
      *end() {
        yield* entries(cutter.rest(), false);
        if (columns === undefined)
          throw new FileError('is empty; its first line must name the columns, as in id,name,tag');
      },
    };
  },
};

/** A position is -1 without such a column. */
type Columns = ReturnType<typeof readHeader>;

/** A blank line, or the delimiter for Excel. The header tells the delimiter, too. */
const comesBeforeHeader = /^(?:sep=.)?\s*$/i;

const fields = ['id', 'name', 'tag'] as const;
type Field = (typeof fields)[number];

/** The names of NewPlant in any order and case, among other columns, or the given titles. */
function readHeader({ bytes, isTooLarge }: RawRecord, titles: ColumnTitles) {
  const header = textOf(bytes);
  const shown = excerpt(header);
  if (isTooLarge || /\r(?!\n)/.test(header))
    throw new FileError(`has line ends other than LF and CRLF; it begins with ${shown}`);
  const needed = fields.filter((field) => field !== 'tag' || titles.tag !== undefined);
  const readings = delimiters.map((delimiter) => readingAt(delimiter, header));
  const reading = readings.find(({ cells }) =>
    needed.every((field) => positionsOf(field, cells, titles).length > 0),
  );
  if (reading === undefined) {
    const names = needed.map((field) => titles[field] ?? field).join(' and ');
    throw new FileError(
      `must name the columns ${names} in its first line, or --column must name others; that ` +
        `line is ${shown}`,
    );
  }
  const positionOf = (field: Field) => {
    const [position = -1, second] = positionsOf(field, reading.cells, titles);
    if (second === undefined) return position;
    const title = titles[field] === undefined ? field : excerpt(titles[field]);
    throw new FileError(`has two columns ${title}; its first line is ${shown}`);
  };
  const [id, name, tag] = [positionOf('id'), positionOf('name'), positionOf('tag')];
  const { delimiter, cells } = reading;
  if (delimiter === '\t' && header.includes('\n'))
    throw new FileError(
      `has a quote in its first line that joins the next line to it; remove the quote: ${shown}`,
    );
  const unread = cells.filter((title, at) => title !== '' && ![id, name, tag].includes(at));
  return { delimiter, count: cells.length, id, name, tag, unread };
}

function readingAt(delimiter: string, header: string) {
  const cells = readCells(header, delimiter);
  return {
    delimiter,
    cells: typeof cells === 'string' ? [] : cells.map((cell) => cell?.trim() ?? ''),
  };
}

/** A given title that is there to the letter is no other column. */
function positionsOf(field: Field, cells: readonly string[], titles: ColumnTitles): number[] {
  const title = titles[field]?.trim() ?? field;
  const like = cells.flatMap((cell, index) =>
    cell.toLowerCase() === title.toLowerCase() ? [index] : [],
  );
  const exact = like.filter((index) => cells[index] === title);
  return titles[field] !== undefined && exact.length > 0 ? exact : like;
}

/**
 * Spreadsheets leave out empty cells at the end of a row, so a row may be short. The last row of a
 * file that was cut looks the same, and has no line end.
 *
 * @returns undefined for an empty row, such as spreadsheets write at the end
 */
function readRow(
  bytes: Buffer,
  columns: Columns,
  hasLineEnd: boolean,
): NewPlant | Refusal | undefined {
  if (!isUtf8(bytes)) {
    return malformed(
      'is not valid UTF-8; save the file as CSV in UTF-8, or convert it, as with ' +
        '"iconv -f WINDOWS-1252 -t UTF-8".',
    );
  }
  const cells = readCells(textOf(bytes), columns.delimiter);
  if (typeof cells === 'string') return malformed(`is not CSV: ${cells}.`);
  if (cells.every((cell) => !cell?.trim())) return undefined;
  const counts = `has ${cells.length} cells and the header ${columns.count}`;
  if (cells.slice(columns.count).some((cell) => cell !== undefined))
    return malformed(`${counts}; put text with a separator in quotes.`);
  if (cells.length < columns.count && !hasLineEnd)
    return malformed(
      `${counts}, and no line end follows: the file was cut. End the file with a line end ` +
        'if the row is whole.',
    );
  const name = cells[columns.name];
  const id = readId(cells[columns.id]?.trim());
  if (id instanceof Refusal) return id;
  if (name === undefined)
    return new Refusal('notNewPlant', '`name` is empty; an empty name is written as "".');
  return newPlant(id, name, cells[columns.tag]);
}

/** @param says continues a sentence that begins with the row */
function malformed(says: string): Refusal {
  return new Refusal('bodyMalformed', `The row ${says}`);
}

function rowTooLarge(recordBytesMax: number): Refusal {
  return new Refusal(
    'bodyTooLarge',
    `The row takes more than ${recordBytesMax} bytes: a quote is not closed, or ` +
      '--body-limit is too low.',
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
    `\`id\` is ${shown}, which a spreadsheet has rounded; format the column as text, so ` +
      'that no digit is lost.',
  );
}
