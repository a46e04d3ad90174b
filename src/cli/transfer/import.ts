import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Values } from '../../config/flags.ts';
import { UsageError } from '../../config/values.ts';
import { isSameFile, isSystemError } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import { openExistingStore } from '../../stores.ts';
import { FileError } from '../../transfer/format.ts';
import { formats } from '../../transfer/formats.ts';
import { type ImportCounts, importPlants } from '../../transfer/import-plants.ts';
import { openSource } from '../../transfer/import-source.ts';
import { openRefusedFile, type RefusedFile } from '../../transfer/refused-file.ts';
import { compactTime } from '../backup/backup.ts';
import { CommandError, command, type Terminal } from '../command.ts';
import { atInterruption } from '../terminal/interruption.ts';
import { startProgress } from '../terminal/progress.ts';
import { fileFormat, pipe } from './file-format.ts';
import { refuseStoreFile } from './store-files.ts';

const flags = [
  'store',
  'accept-lost-commits',
  'format',
  'refused',
  'stop-at-refusal',
  'body-limit',
  'json',
] as const;

type ImportValues = Values<(typeof flags)[number]>;

export const importCommand = command({
  positionals: ['FILE'],
  summary: 'Create the plants of a file, or of standard input (-). Services may run on the store.',
  need: 'Use it for many plants at once, from other programs or stores.',
  flags,
  examples: [
    'plant-store import plants.ndjson',
    'plant-store import plants.csv.gz --stop-at-refusal',
    'plant-store import - --format csv',
  ],
  async run({ values, positionals: [file = ''] }, terminal) {
    const { format, compression } = fileFormat(file, values.format);
    const refused = refusedFileFor(file, values);
    await using store = await openExistingStore(
      values.store,
      limits.cli.lockMs,
      values['accept-lost-commits'],
    );
    using source = openSource(file === pipe ? terminal.input() : file, compression);
    const counts: ImportCounts = { created: 0, same: 0, refused: new Map() };
    const progress = startProgress(terminal, () => performance.now());
    const finish = (until: '' | ' until then') => {
      terminal.note(`Read ${progress.finish(seen(counts))}.`);
      printCounts(counts, values.json, terminal);
      const path = orCommandError(refused.publish);
      if (path !== undefined) terminal.note(`What was refused${until}, and why, is in ${path}.`);
    };
    using _ = atInterruption(terminal, (signal) => {
      finish(' until then');
      terminal.note(stoppedText(signal), 'bad');
    });
    try {
      const recordBytesMax = values['body-limit'] + limits.transfer.idBytesMax;
      await importPlants(source.chunks, formats[format].openReader(recordBytesMax), counts, {
        store,
        stopAtRefusal: values['stop-at-refusal'],
        onRefused: (records) => orCommandError(() => refused.add(records)),
        onProgress: () =>
          progress.show({
            plants: seen(counts),
            share: source.bytes && source.bytesRead() / source.bytes,
          }),
        onWait: (why) => terminal.note(`The store takes no plants (${why}); retrying.`),
      });
      if (counts.refused.size === 0) orCommandError(refused.removeEarlier);
    } catch (error) {
      throw error instanceof FileError
        ? fileError(file === pipe ? 'standard input' : file, error)
        : error;
    } finally {
      finish('');
    }
    return counts.refused.size === 0 ? 0 : 1;
  },
});

function stoppedText(signal: string): string {
  return `plant-store: ${signal} has stopped the import before its end; run it again to go on: plants that are stored count as same`;
}

/** @throws UsageError, CommandError */
function refusedFileFor(file: string, { refused, store }: ImportValues): RefusedFile {
  const path = refused ?? `${isFileOnDisk(file) ? file : nameForPipe()}.refused.ndjson`;
  if (file !== pipe && isSameFile(path, file))
    throw new UsageError('--refused must not be the file that is imported');
  refuseStoreFile(path, [store], 'name another file with --refused');
  try {
    return openRefusedFile(path);
  } catch (error) {
    throw error instanceof FileError
      ? fileError(path, error, '; name another file with --refused')
      : error;
  }
}

function fileError(name: string, cause: FileError, wayOut = ''): CommandError {
  return new CommandError(`${name} ${cause.message}${wayOut}`, { cause });
}

/** A pipe has no name of its own. Containers that share a folder may have the same process ids. */
function nameForPipe(): string {
  return `import-${compactTime(new Date())}-${randomBytes(4).toString('hex')}`;
}

/**
 * Whether refused lines can be written beside the file. A pipe has no folder, and a redirected file
 * is in /dev or /proc. @throws CommandError without a readable file
 */
function isFileOnDisk(file: string): boolean {
  if (file === pipe) return false;
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) throw new CommandError(`there is no file ${file} to import`);
  if (stats.isDirectory()) throw new CommandError(`${file} is a folder; name a file in it`);
  return stats.isFile() && !/^\/(dev|proc)\//.test(resolve(file));
}

/** @throws CommandError for errors of the file system */
function orCommandError<T>(write: () => T): T {
  try {
    return write();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new CommandError(
      `cannot write the refused lines (${error.message}); name another file with --refused`,
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

function printCounts(counts: ImportCounts, json: boolean, { print }: Terminal): void {
  const totals = { created: counts.created, same: counts.same, refused: refusedCount(counts) };
  if (json) {
    print(JSON.stringify({ ...totals, refusedByCode: Object.fromEntries(counts.refused) }));
    return;
  }
  const byCode = [...counts.refused]
    .sort(([a], [b]) => a - b)
    .map(([code, count]) => [`refused ${code}`, count] as const);
  for (const [name, count] of [...Object.entries(totals), ...byCode])
    print(`${name.padEnd('refused 40000'.length)}  ${count}`);
}
