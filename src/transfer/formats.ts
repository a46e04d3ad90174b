import { extname } from 'node:path';
import type { Terminal } from '../cli/command.ts';
import type { Values } from '../cli/flags/flags.ts';
import { UsageError } from '../cli/flags/values.ts';
import { excerpt } from '../contract/excerpt.ts';
import { limits } from '../limits.ts';
import { numberText } from '../quantity-text.ts';
import { csv } from './csv.ts';
import type { ColumnTitles, Format } from './format.ts';
import { ndjson } from './ndjson.ts';

export const formats = { ndjson, csv } satisfies Record<string, Format>;
export type FormatName = keyof typeof formats;

const endings: Readonly<Record<string, FormatName>> = {
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.csv': 'csv',
  '.tsv': 'csv',
};

export type Compression = 'gz' | 'zst';

/** The format of a file to read, which is said, or which its name tells; else NDJSON. */
export function readFormat(file: string, said: Values<'format'>['format']) {
  const { ending, compression } = endingOf(file);
  return {
    format: said === 'tsv' ? 'csv' : (said ?? endings[ending] ?? 'ndjson'),
    compression,
  };
}

/** The format of a file to write. @throws UsageError if nothing names one that can be written */
export function writtenFormat(file: string, said: Values<'format'>['format']) {
  const { ending, compression } = endingOf(file);
  const known = ending === '' ? 'ndjson' : endings[ending];
  if (said === 'tsv' || (said === undefined && (known === undefined || ending === '.tsv')))
    throw new UsageError(
      `no export is ${said ?? ending}; end the name of the file with .ndjson or .csv, or add ` +
        '--format ndjson or --format csv',
    );
  return { format: said ?? known ?? 'ndjson', compression };
}

/** In lower case, and without the ending of a compression, as in `plants.csv.gz`. */
function endingOf(file: string) {
  const [uncompressed = '', compression] = file.toLowerCase().split(/\.(gz|zst)$/);
  return { ending: extname(uncompressed), compression: compression as Compression | undefined };
}

/** Standard input or output. */
export const pipe = '-';

/** Reads the plants of a file, and says which columns it leaves out. @throws UsageError */
export function openPlantReader(
  format: FormatName,
  { format: said, column, 'body-limit': bodyBytesMax }: Values<'format' | 'column' | 'body-limit'>,
  { note }: Pick<Terminal, 'note'>,
) {
  if (column !== undefined && format !== 'csv')
    throw new UsageError(
      '--column is for CSV; add --format csv, or rename the members of each line of NDJSON with jq',
    );
  const titles: ColumnTitles = Object.fromEntries(column ?? []);
  if (Object.keys(titles).length < (column ?? []).length)
    throw new UsageError('--column names a member of a plant twice');
  let unreadColumns: readonly string[] | undefined;
  const joined = { rows: 0, firstLine: 0 };
  const reader = formats[format].openReader(bodyBytesMax + limits.transfer.idBytesMax, {
    titles,
    quotes: said && said !== 'tsv',
    onHeader(unread, hasTag) {
      if (unread.length === 0) return;
      unreadColumns = unread;
      note(unreadText(unread, hasTag));
    },
    onJoinedLines(firstLine) {
      if (joined.rows === 0) joined.firstLine = firstLine;
      joined.rows += 1;
    },
  });
  return {
    ...reader,
    /** Titles of the columns of a CSV file that are in no plant, if there are such. */
    unreadColumns: () => unreadColumns,
    /** What to say of rows that take several lines, if there are such. */
    joinedLines: () => joinedText(joined),
  };
}

/** Rows that a stray quote has joined may make a valid row. */
function joinedText({ rows, firstLine }: { rows: number; firstLine: number }): string | undefined {
  if (rows === 0) return undefined;
  return (
    `Rows that take several lines: ${numberText(rows)}, the first at line ${firstLine}. ` +
    'Their line ends are in quotes; a stray quote joins rows in the same way.'
  );
}

function unreadText(unread: readonly string[], hasTag: boolean): string {
  const { columnsShown } = limits.transfer;
  const shown = unread.slice(0, columnsShown).map(excerpt);
  const more = unread.length - shown.length;
  const columns = `${shown.join(', ')}${more > 0 ? `, and ${more} more` : ''}`;
  const wayOut = hasTag ? '' : ' "--column tag=COLUMN" reads one of them as the tag.';
  return `Columns that are not read: ${columns}.${wayOut}`;
}
