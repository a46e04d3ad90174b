import { isUtf8 } from 'node:buffer';
import {
  appendFileSync,
  closeSync,
  constants,
  lstatSync,
  openSync,
  readSync,
  rmSync,
} from 'node:fs';
import { problems } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import type { RefusedRecord } from './import.ts';

/**
 * The file that says which records were refused, and why. It is made for the first of them; without
 * any, there is none in the end.
 */
export interface RefusedFile extends Disposable {
  add(refused: readonly RefusedRecord[]): void;
}

/** @throws by its methods: the errors of the file system */
export function openRefusedFile(path: string): RefusedFile {
  let descriptor: number | undefined;
  return {
    add(refused) {
      if (refused.length === 0) return;
      descriptor ??= makeAnew(path);
      appendFileSync(descriptor, refused.map(refusedLine).join(''));
    },
    [Symbol.dispose]() {
      if (descriptor === undefined) return removeFile(path);
      closeSync(descriptor);
      descriptor = undefined;
    },
  };
}

/**
 * Another file and not the same one emptied: what was refused the last time may just be what is
 * being imported.
 */
function makeAnew(path: string): number {
  removeFile(path);
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return openDevice(path);
  // With O_EXCL, what has come to be there meanwhile is an error, also a link.
  return openSync(
    path,
    constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_EXCL,
    0o600,
  );
}

/** A pipe that no process reads is an error: to open it would be to wait for a reader. */
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

/** These are links that only the system makes. The last are those of `>(…)` in a shell. */
function isStandardStream(path: string): boolean {
  return /^\/dev\/(stdout|stderr|fd\/[0-9]+)$/.test(path);
}

/** That of an earlier import; never a device such as /dev/null, nor a link such as /dev/stdout. */
function removeFile(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile()) rmSync(path);
}

const lineStart = '{"line":';

/**
 * Whether refused lines may be written there: over the file of an earlier import, but over no
 * other, and through no link, which somebody else may have put there.
 *
 * @returns why not, as a sentence
 */
export function unfitForRefused(path: string): string | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isSymbolicLink() && !isStandardStream(path))
    return `${path} is a symbolic link, which is not followed`;
  if (!stats?.isFile() || stats.size === 0) return undefined;
  const start = Buffer.alloc(lineStart.length);
  const descriptor = openSync(
    path,
    constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0),
  );
  readSync(descriptor, start);
  closeSync(descriptor);
  return start.toString() === lineStart
    ? undefined
    : `there is a file ${path} already that no import has made`;
}

/**
 * The Error object of the reply that a client would have got, and what it is about: as `text`,
 * which can be imported once it is corrected, or as `excerpt`, where it is not all there or not as
 * it was. Who imported that would store another plant.
 */
function refusedLine({
  record: { line, bytes, isTooLarge },
  refusal: { problem, message },
}: RefusedRecord): string {
  const text = bytes.toString(
    'utf8',
    0,
    isTooLarge ? limits.transfer.refusedExcerptBytes : undefined,
  );
  const said = !isTooLarge && isUtf8(bytes) ? { text } : { excerpt: text };
  return `${JSON.stringify({ line, error: problems[problem].code, message, ...said })}\n`;
}
