import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  closeSync,
  constants,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { forReading } from '../disk/files.ts';
import { limits } from '../limits.ts';
import { FileError } from './format.ts';
import type { RefusedRecord } from './import-plants.ts';

/**
 * The file of refused records, one JSON object a line. While the import runs, the records are in
 * `PATH.unfinished-…`. Errors of the file system are thrown.
 *
 * @throws FileError if `path` must not be written: what is there is not made by an import
 */
export function openRefusedFile(path: string) {
  demandFit(path);
  const unfinished = `${path}.unfinished-${randomBytes(4).toString('hex')}`;
  let descriptor: number | undefined;
  return {
    add(refused: readonly RefusedRecord[]): void {
      if (refused.length === 0) return;
      descriptor ??= openSync(unfinished, 'ax', 0o600);
      appendFileSync(descriptor, refused.map(refusedLine).join(''));
    },
    /**
     * Ends the file, which takes the place of the file of an earlier import.
     *
     * @returns the name; undefined if no record was added
     */
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

const lineStart = '{"line":';

/** Other users can make links. A file of refused records starts with `lineStart`. */
function demandFit(path: string): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return;
  const start = Buffer.alloc(lineStart.length);
  if (stats.isFile()) {
    const descriptor = openSync(path, forReading | (constants.O_NOFOLLOW ?? 0));
    readSync(descriptor, start);
    closeSync(descriptor);
  }
  if (start.toString() !== lineStart)
    throw new FileError('exists, and is not a file of refused lines');
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
