import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  closeSync,
  constants,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { resolve } from 'node:path';
import { CommandError } from '../cli/command.ts';
import { compactTime, forReading, isSystemError, startOf } from '../disk/files.ts';
import { limits } from '../limits.ts';
import { pipe } from './formats.ts';
import type { RefusedRecord } from './import-plants.ts';

/**
 * The file of refused records, one JSON object a line; until its end, `PATH.unfinished-…`.
 *
 * @throws CommandError without a file of plants, or if no import has made what is at the path;
 * errors of the file system
 */
export function openRefusedLines(file: string) {
  const path = `${isFileOnDisk(file) ? file : nameForPipe()}.refused.ndjson`;
  demandRefusedLines(path);
  const unfinished = `${path}.unfinished-${randomBytes(4).toString('hex')}`;
  let descriptor: number | undefined;
  return {
    add(refused: readonly RefusedRecord[]): void {
      if (refused.length === 0) return;
      try {
        descriptor ??= openSync(unfinished, 'ax', 0o600);
        appendFileSync(descriptor, refused.map(refusedLine).join(''));
      } catch (error) {
        if (!isSystemError(error)) throw error;
        throw new CommandError(
          `cannot write the refused lines (${error.message}); "import -" writes them into ` +
            'this folder',
          { cause: error },
        );
      }
    },
    /** Takes the place of an earlier file. @returns the name, if a record was added */
    publish(): string | undefined {
      if (descriptor === undefined) return undefined;
      closeSync(descriptor);
      descriptor = undefined;
      renameSync(unfinished, path);
      return path;
    },
    /** Removes the file of an earlier import. */
    removeEarlier: () => rmSync(path, { force: true }),
  };
}

/** A pipe has no name of its own. Containers that share a folder may have the same process ids. */
function nameForPipe(): string {
  return `import-${compactTime(new Date())}-${randomBytes(4).toString('hex')}`;
}

/** A pipe has no folder for refused lines, and a redirected file is in /dev or /proc. */
function isFileOnDisk(file: string): boolean {
  if (file === pipe) return false;
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) throw new CommandError(`there is no file ${file} to import`);
  if (stats.isDirectory()) throw new CommandError(`${file} is a folder; name a file in it`);
  return stats.isFile() && !/^\/(dev|proc)\//.test(resolve(file));
}

const lineStart = '{"line":';

/** Other users can make links. A file of refused records starts with `lineStart`. */
function demandRefusedLines(path: string): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return;
  const flags = forReading | (constants.O_NOFOLLOW ?? 0);
  if (!stats.isFile() || startOf(path, lineStart.length, flags).toString() !== lineStart)
    throw new CommandError(`${path} exists, and is not a file of refused lines; move it away`);
}

/**
 * The body of the error reply, and the record: as `text`, which can be corrected and imported, or
 * as `excerpt`, if the record is not complete or not UTF-8. An import of an excerpt would store
 * another plant.
 */
function refusedLine({
  record: { line, bytes, isTooLarge },
  code,
  message,
}: RefusedRecord): string {
  const shownBytes = isTooLarge ? limits.transfer.refusedExcerptBytes : undefined;
  const text = bytes.toString('utf8', 0, shownBytes);
  const shown = !isTooLarge && isUtf8(bytes) ? { text } : { excerpt: text };
  return `${JSON.stringify({ line, error: code, message, ...shown })}\n`;
}
