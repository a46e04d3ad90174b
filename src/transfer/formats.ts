import { extname } from 'node:path';
import { csv } from './csv.ts';
import type { Format } from './format.ts';
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

/** The format that is said, or that the name tells, as in `plants.csv.gz`; else NDJSON. */
export function fileFormat(file: string, said: FormatName | undefined) {
  const [uncompressed = '', compression] = file.toLowerCase().split(/\.(gz|zst)$/);
  return {
    format: said ?? endings[extname(uncompressed)] ?? 'ndjson',
    compression: compression as Compression | undefined,
  };
}
