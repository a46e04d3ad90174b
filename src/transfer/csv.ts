import { isUtf8 } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import { excerpt } from '../contract/excerpt.ts';
import { type NewPlant, newPlant } from '../contract/plant.ts';
import { Refusal } from '../contract/problems.ts';
import {
  csvRecordEnds,
  type Dialect,
  delimiters,
  lineFeed,
  readCells,
  tab,
  writeCell,
} from './csv-grammar.ts';
import { type ColumnTitles, type Entry, FileError, type Format } from './format.ts';
import { createRecordCutter, type RawRecord } from './record-cutter.ts';

/**
 * RFC 4180 with a header. An empty cell without quotes is absent; a quoted one is empty text. Tables
 * with tabs are of two kinds, and only the user knows which: quoted, or with plain quotes.
 */
export const csv: Format = {
  head: (hasDetails) => `id,name,tag${hasDetails ? ',createdAt,createdBy' : ''}\r\n`,
  write({ id, name, tag }, details) {
    const more = details && `,${details.createdAt},${writeCell(details.createdBy)}`;
    return `${id},${writeCell(name)},${writeCell(tag)}${more ?? ''}\r\n`;
  },
  openReader(recordBytesMax, { titles = {}, quotes, onHeader, onJoinedLines } = {}) {
    const ends = csvRecordEnds(quotes ?? true);
    const cutter = createRecordCutter(ends, recordBytesMax);
    let columns: Columns | undefined;

    function* entries(records: Iterable<RawRecord>, hasLineEnd: boolean): Generator<Entry> {
      for (const record of records) {
        if (columns === undefined) {
          if (comesBeforeHeader.test(textOf(record.bytes))) continue;
          columns = readHeader(record, titles, quotes);
          ends.setDialect(columns);
          onHeader?.(columns.unread, columns.tag >= 0);
          continue;
        }
        const plant = record.isTooLarge
          ? rowTooLarge(recordBytesMax)
          : readRecord(record, columns, hasLineEnd);
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
function readHeader(
  { bytes, isTooLarge }: RawRecord,
  titles: ColumnTitles,
  quotes: boolean | undefined,
) {
  const header = textOf(bytes);
  const shown = excerpt(header);
  if (isTooLarge || /\r(?!\n)/.test(header))
    throw new FileError(`has line ends other than LF and CRLF; it begins with ${shown}`);
  const needed = fields.filter((field) => field !== 'tag' || titles.tag !== undefined);
  const readings = (quotes === false ? [tab] : delimiters).map((delimiter) => ({
    delimiter,
    cells: titlesIn(header, { delimiter, quotes: quotes ?? true }),
  }));
  const reading = readings.find(({ cells }) =>
    needed.every((field) => positionsOf(field, cells, titles).length > 0),
  );
  if (reading === undefined) {
    const names = needed.map((field) => titles[field] ?? field).join(' and ');
    const wayOut = header.includes('\\N') ? `; ${ofDump}` : '';
    throw new FileError(
      `must name the columns ${names} in its first line, or --column must name others; that ` +
        `line is ${shown}${wayOut}`,
    );
  }
  const { delimiter, cells } = reading;
  const isUnsure = quotes === undefined && delimiter === tab;
  if (isUnsure && header.includes('"'))
    throw new FileError(`has quotes in its first line; add ${ofQuotes}`);
  const positionOf = (field: Field) => {
    const [position = -1, second] = positionsOf(field, cells, titles);
    if (second === undefined) return position;
    const title = titles[field] === undefined ? field : excerpt(titles[field]);
    throw new FileError(`has two columns ${title}; its first line is ${shown}`);
  };
  const [id, name, tag] = [positionOf('id'), positionOf('name'), positionOf('tag')];
  const unread = cells.filter((title, at) => title !== '' && ![id, name, tag].includes(at));
  const dialect = { delimiter, quotes: !isUnsure && quotes !== false };
  return { ...dialect, isUnsure, count: cells.length, id, name, tag, unread };
}

const ofQuotes =
  '--format csv if cells may be quoted, or --format tsv if a quote is a plain character';
const ofDump =
  '\\N is NULL in a dump of a database; export the table with a header and with empty cells, as ' +
  'COPY … WITH (FORMAT csv, HEADER) does';

function titlesIn(header: string, dialect: Dialect): string[] {
  const cells = readCells(header, dialect);
  return typeof cells === 'string' ? [] : cells.map((cell) => cell?.trim() ?? '');
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

function readRecord({ bytes, line }: RawRecord, columns: Columns, hasLineEnd: boolean): Row {
  if (!isUtf8(bytes)) {
    return malformed(
      'is not valid UTF-8; save the file as CSV in UTF-8, or convert it, as with ' +
        '"iconv -f WINDOWS-1252 -t UTF-8".',
    );
  }
  const text = textOf(bytes);
  const row = readRow(text, columns, hasLineEnd);
  if (columns.isUnsure && /"|\\N/.test(text))
    demandOneReading(row, readRow(text, { ...columns, quotes: true }, hasLineEnd), line);
  return row;
}

/** Until two readings of a record differ, they agree on where each record ends, too. */
function demandOneReading(plain: Row, quoted: Row, line: number): void {
  if (isDeepStrictEqual(plain, quoted)) return;
  const readings = `as CSV ${shownRow(quoted)}, and as TSV ${shownRow(plain)}`;
  throw new FileError(`can be read in two ways from line ${line} on: ${readings}; add ${ofQuotes}`);
}

function shownRow(row: Row): string {
  if (row === undefined) return 'an empty row';
  if (row instanceof Refusal) return `a refused row (${row.message})`;
  const tag = row.tag === undefined ? 'no tag' : `tag ${excerpt(row.tag)}`;
  return `id ${row.id}, name ${excerpt(row.name)}, ${tag}`;
}

/** Undefined for an empty row, such as spreadsheets write at the end. */
type Row = NewPlant | Refusal | undefined;

/**
 * Spreadsheets leave out empty cells at the end of a row, so a row may be short. The last row of a
 * file that was cut looks the same, and has no line end.
 */
function readRow(text: string, columns: Columns, hasLineEnd: boolean): Row {
  const cells = readCells(text, columns);
  if (typeof cells === 'string') return malformed(`is not CSV: ${cells}.`);
  if (cells.every((cell) => cell !== null && !cell?.trim())) return undefined;
  const counts = `has ${cells.length} cells and the header ${columns.count}`;
  if (cells.slice(columns.count).some((cell) => cell !== undefined))
    return malformed(`${counts}; put text with a separator in quotes.`);
  if (cells.length < columns.count && !hasLineEnd)
    return malformed(
      `${counts}, and no line end follows: the file was cut. End the file with a line end ` +
        'if the row is whole.',
    );
  const [idCell, name, tag] = [cells[columns.id], cells[columns.name], cells[columns.tag]];
  if (idCell === null || name === null || tag === null)
    return malformed(`has \\N without quotes: ${ofDump}.`);
  const id = readId(idCell?.trim());
  if (id instanceof Refusal) return id;
  if (name === undefined)
    return new Refusal('notNewPlant', '`name` is empty; an empty name is written as "".');
  return newPlant(id, name, tag);
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

/** A spreadsheet keeps 15 digits, and may write `1.0` for 1. R writes `1e+05`. */
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
    `\`id\` is ${shown}: a spreadsheet or R has rounded it, and digits may be lost. Write whole ` +
      'numbers: format the column of the spreadsheet as text, or set options(scipen = 999) in R.',
  );
}
