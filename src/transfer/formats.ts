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

/** The format of a file by the endings of its name, such as `plants.csv.gz`. */
export function formatFromName(file: string): {
  format: FormatName | undefined;
  compression: Compression | undefined;
} {
  const [uncompressed = '', compression] = file.toLowerCase().split(/\.(gz|zst)$/);
  return {
    format: endings[extname(uncompressed)],
    compression: compression as Compression | undefined,
  };
}
