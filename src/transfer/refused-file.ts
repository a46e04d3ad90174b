import { appendFileSync, closeSync, openSync, rmSync, statSync } from 'node:fs';
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

/** That of an earlier import; never a device such as /dev/null. */
function removeFile(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFile()) rmSync(path);
}

/** The Error object of the reply that a client would have got, and what it is about. */
function refusedLine({ record, refusal }: RefusedRecord): string {
  const { code: error } = problems[refusal.problem];
  const text = record.bytes.toString('utf8', 0, record.isTooLarge ? limits.refusedExcerptBytes : undefined);
  return `${JSON.stringify({ line: record.line, error, message: refusal.message, text })}\n`;
}
