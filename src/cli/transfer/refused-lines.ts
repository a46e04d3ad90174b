import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { compactTime, isSystemError } from '../../disk/files.ts';
import { FileError } from '../../transfer/format.ts';
import { openRefusedFile } from '../../transfer/refused-file.ts';
import { CommandError } from '../command.ts';
import { pipe } from './file-format.ts';

/** The file of the lines that are refused of a file of plants. @throws CommandError */
export function openRefusedLines(file: string) {
  const path = `${isFileOnDisk(file) ? file : nameForPipe()}.refused.ndjson`;
  const refused = openAt(path);
  return {
    ...refused,
    add(records: Parameters<typeof refused.add>[0]): void {
      try {
        refused.add(records);
      } catch (error) {
        if (!isSystemError(error)) throw error;
        throw new CommandError(
          `cannot write the refused lines (${error.message}); "import -" writes them into ` +
            'this folder',
          { cause: error },
        );
      }
    },
  };
}

function openAt(path: string) {
  try {
    return openRefusedFile(path);
  } catch (error) {
    throw error instanceof FileError ? fileError(path, error, '; move it away') : error;
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
  if (file === pipe) return false;
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) throw new CommandError(`there is no file ${file} to import`);
  if (stats.isDirectory()) throw new CommandError(`${file} is a folder; name a file in it`);
  return stats.isFile() && !/^\/(dev|proc)\//.test(resolve(file));
}
