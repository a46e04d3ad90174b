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
import { join, parse } from 'node:path';
import { forReading, isErrno } from '../disk/files.ts';
import { limits } from '../limits.ts';
import { FileError } from './format.ts';
import type { RefusedRecord } from './import-plants.ts';

/**
 * The file of refused records, one JSON object a line. While the import runs, the records are in
 * `PATH.unfinished-…`. So imports that run at the same time, also of the same file, keep a file
 * each. Errors of the file system are thrown.
 */
export interface RefusedFile {
  add(refused: readonly RefusedRecord[]): unknown;
  /**
   * Ends the file and gives it its name. The file of an earlier import is replaced. A file that
   * another import has made since `openRefusedFile` stays, and this file gets a number.
   *
   * @returns the name; undefined if no record was added
   */
  publish(): string | undefined;
  /** Removes the file of an earlier import. */
  removeEarlier(): void;
}

/** @throws FileError if `path` must not be written: a link, or a file that no import has made */
export function openRefusedFile(path: string): RefusedFile {
  demandFit(path);
  const earlier = identityOf(path);
  const unfinished = `${path}.unfinished-${randomBytes(4).toString('hex')}`;
  const isDevice = earlier === undefined && lstatSync(path, { throwIfNoEntry: false });
  let descriptor: number | undefined;

  function removeEarlier(): void {
    if (earlier === undefined || identityOf(path) !== earlier) return;
    const aside = `${unfinished}-earlier`;
    renameSync(path, aside);
    // Another import may have published its file since the comparison.
    if (identityOf(aside) === earlier) rmSync(aside);
    else giveName(aside, path);
  }

  return {
    add(refused) {
      if (refused.length === 0) return;
      descriptor ??= isDevice ? openDevice(path) : openSync(unfinished, 'ax', 0o600);
      appendFileSync(descriptor, refused.map(refusedLine).join(''));
    },
    publish() {
      if (descriptor === undefined) return undefined;
      closeSync(descriptor);
      descriptor = undefined;
      if (isDevice) return path;
      removeEarlier();
      return giveName(unfinished, path);
    },
    removeEarlier,
  };
}

/** Inode and time of the last write. Undefined for everything except a regular file. */
function identityOf(path: string): string | undefined {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stats?.isFile() ? `${stats.dev}:${stats.ino}:${stats.mtimeNs}` : undefined;
}

/** Renames the file to `path`, or to `path` with a number if that exists. @returns the name */
function giveName(file: string, path: string): string {
  const { dir, name, ext } = parse(path);
  for (let number = 1; ; number += 1) {
    const free = number === 1 ? path : join(dir, `${name}-${number}${ext}`);
    try {
      // No other import can take the name from now on.
      closeSync(openSync(free, 'wx', 0o600));
    } catch (error) {
      if (isErrno(error, 'EEXIST')) continue;
      throw error;
    }
    renameSync(file, free);
    return free;
  }
}

/** A pipe without a reader is an error: opening the pipe would wait for a reader. */
function openDevice(path: string): number {
  const flags =
    constants.O_WRONLY |
    constants.O_APPEND |
    (isStandardStream(path) ? 0 : (constants.O_NOFOLLOW ?? 0));
  const reader = openSync(path, flags | (constants.O_NONBLOCK ?? 0));
  const descriptor = openSync(path, flags);
  closeSync(reader);
  return descriptor;
}

/** Links that only the system makes. A shell makes `>(…)` of `/dev/fd`. */
function isStandardStream(path: string): boolean {
  return /^\/dev\/(stdout|stderr|fd\/[0-9]+)$/.test(path);
}

const lineStart = '{"line":';

/** Other users can make links. A file of refused records starts with `lineStart`. */
function demandFit(path: string): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isSymbolicLink() && !isStandardStream(path))
    throw new FileError('is a symbolic link, which is not followed');
  if (!stats?.isFile() || stats.size === 0) return;
  const start = Buffer.alloc(lineStart.length);
  const descriptor = openSync(path, forReading | (constants.O_NOFOLLOW ?? 0));
  readSync(descriptor, start);
  closeSync(descriptor);
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
