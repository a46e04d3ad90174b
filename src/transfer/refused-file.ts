import { isUtf8 } from 'node:buffer';
import { appendFileSync, closeSync, lstatSync, openSync, readSync, rmSync } from 'node:fs';
import { problems } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import type { RefusedRecord } from './import.ts';

/** The file that says which records were refused, and why. It is made for the first of them; without any, there is none in the end. */
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

/** Another file and not the same one emptied: what was refused the last time may just be what is being imported. */
function makeAnew(path: string): number {
  removeFile(path);
  return openSync(path, 'a', 0o600);
}

/** That of an earlier import; never a device such as /dev/null, nor a link such as /dev/stdout. */
function removeFile(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile()) rmSync(path);
}

const lineStart = '{"line":';

/** Whether there is a file that no import has made: it is not to be replaced or removed, as that of an earlier import is. */
export function isFileOfOthers(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats?.isFile() || stats.size === 0) return false;
  const start = Buffer.alloc(lineStart.length);
  const descriptor = openSync(path, 'r');
  readSync(descriptor, start);
  closeSync(descriptor);
  return start.toString() !== lineStart;
}

/**
 * The Error object of the reply that a client would have got, and what it is about: as `text`, which can be imported once it is
 * corrected, or as `excerpt`, where it is not all there or not as it was. Who imported that would store another plant.
 */
function refusedLine({ record: { line, bytes, isTooLarge }, refusal: { problem, message } }: RefusedRecord): string {
  const text = bytes.toString('utf8', 0, isTooLarge ? limits.refusedExcerptBytes : undefined);
  const said = !isTooLarge && isUtf8(bytes) ? { text } : { excerpt: text };
  return `${JSON.stringify({ line, error: problems[problem].code, message, ...said })}\n`;
}
