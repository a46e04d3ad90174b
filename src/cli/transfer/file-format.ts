import { UsageError } from '../../config/values.ts';
import { type FormatName, formatFromName } from '../../transfer/formats.ts';

/** Stands for standard input or output. */
export const pipe = '-';

/**
 * What a file to be read or written holds: as it has been said, else as its name says, and NDJSON
 * in a pipe. @throws UsageError
 */
export function fileFormat(file: string, said: FormatName | undefined) {
  if (file === pipe) return { format: said ?? 'ndjson', compression: undefined } as const;
  const { format = said, compression } = formatFromName(file);
  if (format !== undefined) return { format: said ?? format, compression };
  throw new UsageError(
    `the name ${file} does not say what is in the file; let it end with .ndjson or .csv, then .gz or .zst if compressed, or give --format`,
  );
}
