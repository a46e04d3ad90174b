import { randomBytes } from 'node:crypto';
import { type Stats, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { UsageError } from '../../config/values.ts';
import { compactTime } from '../../disk/compact-time.ts';
import { isSameFile, isSystemError } from '../../disk/files.ts';
import type { StoreLocation } from '../../store/location.ts';
import { FileError } from '../../transfer/format.ts';
import { openRefusedFile, type RefusedFile } from '../../transfer/refused-file.ts';
import { CommandError } from '../command.ts';
import { pipe } from './file-format.ts';
import { refuseStoreFile } from './store-files.ts';

/**
 * The file of the lines that are refused of a file of plants. Its methods throw CommandErrors.
 *
 * @param given the path by --refused
 * @param store its files are not overwritten
 * @throws UsageError, CommandError
 */
export function openRefusedLines(
  file: string,
  given: string | undefined,
  store: StoreLocation,
): RefusedFile {
  const path = given ?? `${isFileOnDisk(file) ? file : nameForPipe()}.refused.ndjson`;
  if (file !== pipe && isSameFile(path, file))
    throw new UsageError('--refused must not be the file with the plants');
  refuseStoreFile(path, [store], 'name another file with --refused');
  const refused = orFileError(
    path,
    () => openRefusedFile(path),
    '; name another file with --refused',
  );
  return {
    add: (records) => orCommandError(() => refused.add(records)),
    publish: () => orCommandError(refused.publish),
    removeEarlier: () => orCommandError(refused.removeEarlier),
  };
}

/** @throws CommandError for a FileError */
function orFileError<T>(path: string, open: () => T, wayOut: string): T {
  try {
    return open();
  } catch (error) {
    throw error instanceof FileError ? fileError(path, error, wayOut) : error;
  }
}

export function fileError(name: string, cause: FileError, wayOut = ''): CommandError {
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
  const stats = demandInput(file);
  return stats?.isFile() === true && !/^\/(dev|proc)\//.test(resolve(file));
}

/** @returns undefined for standard input. @throws CommandError without a readable file */
export function demandInput(file: string): Stats | undefined {
  if (file === pipe) return undefined;
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) throw new CommandError(`there is no file ${file} to import`);
  if (stats.isDirectory()) throw new CommandError(`${file} is a folder; name a file in it`);
  return stats;
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
