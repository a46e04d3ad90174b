import { statSync } from 'node:fs';
import { UsageError } from '../../config/values.ts';
import { isSameFile, isSystemError } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import { openExistingStore } from '../../stores.ts';
import { FileError } from '../../transfer/format.ts';
import { formats } from '../../transfer/formats.ts';
import { type ImportCounts, importPlants, type RefusedRecord } from '../../transfer/import.ts';
import { openRefusedFile, type RefusedFile, unfitForRefused } from '../../transfer/refused-file.ts';
import { openSource } from '../../transfer/source.ts';
import { compactTime } from '../backup/backup.ts';
import { CommandError, command } from '../command.ts';
import { atInterruption } from '../terminal/interruption.ts';
import { startProgress } from '../terminal/progress.ts';
import { contentToTransfer, pipe } from './content.ts';
import { refuseStoreFile } from './store-files.ts';

export const importPlantsCommand = command({
  positionals: ['FILE'],
  summary:
    'Create the plants of a file, or with - those that come on standard input, also while servers run on the store.',
  flags: [
    'store',
    'accept-lost-commits',
    'format',
    'refused',
    'stop-at-refusal',
    'body-limit',
    'json',
  ],
  examples: [
    'plant-store import plants.ndjson',
    'plant-store import plants.csv.gz --stop-at-refusal',
    'plant-store import - --format csv',
  ],
  async run({ values, positionals: [file = ''] }, terminal) {
    const { format, compression } = contentToTransfer(file, values.format);
    const refusedPath =
      values.refused ?? `${isFileOnDisk(file) ? file : nameForPipe()}.refused.ndjson`;
    if (file !== pipe && isSameFile(refusedPath, file))
      throw new UsageError('--refused must not be the file that is imported');
    refuseStoreFile(refusedPath, [values.store], 'name another file with --refused');
    const unfit = unfitForRefused(refusedPath);
    if (unfit !== undefined) throw new CommandError(`${unfit}; name another file with --refused`);

    await using store = await openExistingStore(
      values.store,
      limits.cli.lockMs,
      values['accept-lost-commits'],
    );
    using source = openSource(file === pipe ? terminal.input() : file, compression);
    using refused = openRefusedFile(refusedPath);
    const counts: ImportCounts = { created: 0, same: 0, refused: new Map() };
    const progress = startProgress(terminal, () => performance.now());
    const tellCounts = () => {
      terminal.note(`Read ${progress.finish(seen(counts))}.`);
      for (const line of values.json ? [countRecord(counts)] : countLines(counts))
        terminal.print(line);
    };
    using _ = atInterruption(terminal, (signal) => {
      tellCounts();
      if (counts.refused.size > 0)
        terminal.note(`What was refused until then, and why, is in ${refusedPath}.`);
      terminal.note(
        `plant-store: ${signal} has stopped the import before its end; run it again to go on: plants that are stored count as same`,
        'bad',
      );
    });
    try {
      await importPlants(
        source.chunks,
        formats[format].openReader(values['body-limit'] + limits.transfer.idBytesMax),
        counts,
        {
          store,
          stopAtRefusal: values['stop-at-refusal'],
          onRefused: (records) => report(refused, records),
          onProgress: () =>
            progress.show({
              plants: seen(counts),
              share: source.bytes && source.bytesRead() / source.bytes,
            }),
          onWait: (why) =>
            terminal.note(`The store takes nothing at the moment (${why}); trying again.`),
        },
      );
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      throw new CommandError(`${file === pipe ? 'standard input' : file} ${error.message}`, {
        cause: error,
      });
    } finally {
      tellCounts();
    }
    if (counts.refused.size === 0) return 0;
    terminal.note(`What was refused, and why, is in ${refusedPath}.`);
    return 1;
  },
});

/**
 * Several imports from pipes may run in one folder, at the same time and one after the other, and
 * none writes over what another has said.
 */
function nameForPipe(): string {
  return `import-${compactTime(new Date())}-${process.pid}`;
}

/**
 * A pipe may have a name, too, such as /dev/stdin. @throws CommandError if it cannot be read from
 */
function isFileOnDisk(file: string): boolean {
  if (file === pipe) return false;
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) throw new CommandError(`there is no file ${file} to import`);
  if (stats.isDirectory()) throw new CommandError(`${file} is a folder; name a file in it`);
  return stats.isFile();
}

function report(file: RefusedFile, refused: readonly RefusedRecord[]): void {
  try {
    file.add(refused);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new CommandError(
      `cannot write what was refused (${error.message}); name another file with --refused`,
      { cause: error },
    );
  }
}

function refusedCount({ refused }: ImportCounts): number {
  return refused.values().reduce((sum, count) => sum + count, 0);
}

function seen(counts: ImportCounts): number {
  return counts.created + counts.same + refusedCount(counts);
}

/** As `countLines`, in a line of JSON. */
function countRecord(counts: ImportCounts): string {
  const { created, same, refused } = counts;
  return JSON.stringify({
    created,
    same,
    refused: refusedCount(counts),
    refusedByCode: Object.fromEntries(refused),
  });
}

/** `same` are those that the store held already. */
function countLines(counts: ImportCounts): string[] {
  const byCode = [...counts.refused]
    .sort(([a], [b]) => a - b)
    .map(([code, count]) => [`refused ${code}`, count] as const);
  const lines = [
    ['created', counts.created],
    ['same', counts.same],
    ['refused', refusedCount(counts)],
    ...byCode,
  ] as const;
  return lines.map(([name, count]) => `${name.padEnd('refused 40000'.length)}  ${count}`);
}
