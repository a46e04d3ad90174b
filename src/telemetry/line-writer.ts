import { constants, fstatSync, openSync, writeSync, writev, writevSync } from 'node:fs';
import { limits } from '../limits.ts';
import { type SharedCounter, sharedCounters } from '../threads/shared-counter.ts';

/** Lines of all threads: those that wait to be written, and those that never will be. */
export type LineCounters = Readonly<Record<'waiting' | 'dropped', SharedCounter>>;

export type LineMemory = Readonly<Record<keyof LineCounters, SharedArrayBuffer>>;

/** Passes lines on, and drops a line if too many wait. */
export function boundedLines(memory: LineMemory, pass: (line: string) => void) {
  const { waiting, dropped } = sharedCounters(memory);
  return {
    write(line: string): void {
      if (waiting.add(1, limits.service.logLinesMax)) pass(line);
      else dropped.add(1, limits.service.logLinesCounted);
    },
  };
}

const standardError = 2;

const newline = Buffer.from('\n');

/**
 * Writes lines to standard error. No caller waits: one write is under way, and further lines stay
 * in bounded memory. Lines are dropped if a write fails, or too many wait; the first write that
 * works then is a notice.
 *
 * @param notice a line that tells the number of dropped lines
 */
export function openLineWriter(
  { waiting, dropped }: LineCounters,
  notice: (lines: number) => string,
) {
  const { descriptor, mayBlock } = openOutput();
  let lines: string[] = [];
  /** What is being written: lines, or a notice. */
  let batch: Buffer[] = [];
  /** Dropped lines that the notice in `batch` tells of; 0 if `batch` holds lines. */
  let telling = 0;
  /** Dropped lines that earlier notices have told of. */
  let told = 0;
  let state: 'idle' | 'due' | 'under way' = 'idle';
  /** The output ends within a line. */
  let isCut = false;

  function writeBatch(): void {
    if (batch.length === 0) fillBatch();
    if (batch.length === 0) {
      state = 'idle';
      return;
    }
    state = 'under way';
    if (mayBlock) return writev(descriptor, batch, noteWritten);
    let bytes: number;
    try {
      bytes = writevSync(descriptor, batch);
    } catch (error) {
      return noteWritten(error as NodeJS.ErrnoException, 0);
    }
    noteWritten(null, bytes);
  }

  function noteWritten(error: NodeJS.ErrnoException | null, bytes: number): void {
    if (error === null) {
      advance(bytes);
      return writeBatch();
    }
    if (error.code !== 'EAGAIN') drop();
    state = 'due';
    // The end of the process does not wait.
    setTimeout(writeBatch, limits.service.logRetryMs).unref();
  }

  function fillBatch(): void {
    telling = dropped.count() - told;
    const texts = telling > 0 ? [notice(telling)] : lines.splice(0);
    batch = texts.map((text) => Buffer.from(text));
    if (isCut && batch.length > 0) batch[0] = Buffer.concat([newline, batch[0] as Buffer]);
  }

  function advance(bytes: number): void {
    let left = bytes;
    for (let first = batch[0]; first && first.length <= left; first = batch[0]) {
      left -= first.length;
      batch.shift();
      if (telling === 0) waiting.subtract(1);
    }
    isCut = left > 0;
    if (isCut) batch[0] = (batch[0] as Buffer).subarray(left);
    if (batch.length === 0) told += telling;
  }

  function drop(): void {
    const count = lines.length + (telling > 0 ? 0 : batch.length);
    lines = [];
    batch = [];
    waiting.subtract(count);
    dropped.add(count, limits.service.logLinesCounted);
  }

  return {
    /** The line must be counted as waiting. Returns at once. */
    write(line: string): void {
      lines.push(line);
      if (state !== 'idle') return;
      if (!mayBlock) return writeBatch();
      state = 'due';
      setImmediate(writeBatch);
    },
    /** Writes what an end of the process would lose, as far as this takes no time. */
    writeLast(): void {
      // The thread of a write that is under way ends the write.
      const rest = state === 'under way' ? [] : batch;
      try {
        writeSync(descriptor, Buffer.concat([...rest, Buffer.from(lines.join(''))]));
      } catch {
        // Nobody is left to be told.
      }
    },
  };
}

/**
 * A pipe or a terminal is opened once more, because only a descriptor of one's own can be told
 * never to block. Elsewhere a write may block one of Node's threads for files. Node has told a
 * socket, or a pipe of another user, not to block, so that none keeps the process from ending.
 */
function openOutput(): { readonly descriptor: number; readonly mayBlock: boolean } {
  const given = { descriptor: standardError, mayBlock: true };
  const found = fstatSync(standardError);
  if (!found.isFIFO() && !found.isCharacterDevice()) return given;
  try {
    const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
    return { descriptor: openSync(`/proc/self/fd/${standardError}`, flags), mayBlock: false };
  } catch {
    // Another user's, without a reader, or not on Linux.
    return given;
  }
}
