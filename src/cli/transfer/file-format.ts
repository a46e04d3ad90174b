import type { Values } from '../../config/flags.ts';
import { UsageError } from '../../config/values.ts';
import { limits } from '../../limits.ts';
import type { PlantFileReader } from '../../transfer/format.ts';
import { type FormatName, formatFromName, formats } from '../../transfer/formats.ts';

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

/** Reads the plants of a file in the format. @throws UsageError */
export function openPlantReader(
  format: FormatName,
  { column, 'body-limit': bodyBytesMax }: Values<'column' | 'body-limit'>,
): PlantFileReader {
  if (column !== undefined && format !== 'csv')
    throw new UsageError(
      '--column is for CSV, and the file is NDJSON; rename the members of each line with jq',
    );
  return formats[format].openReader(bodyBytesMax + limits.transfer.idBytesMax, column);
}
