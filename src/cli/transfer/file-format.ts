import { UsageError } from '../../config/values.ts';
import { type FormatName, formatFromName } from '../../transfer/formats.ts';

/** Standard input or output. */
export const pipe = '-';

/** The format by --format, then by the name; NDJSON for a pipe. @throws UsageError */
export function fileFormat(file: string, said: FormatName | undefined) {
  if (file === pipe) return { format: said ?? 'ndjson', compression: undefined } as const;
  const { format = said, compression } = formatFromName(file);
  if (format !== undefined) return { format: said ?? format, compression };
  throw new UsageError(
    `the name ${file} does not tell the format; end it with .ndjson or .csv, then .gz or .zst if compressed, or give --format`,
  );
}
