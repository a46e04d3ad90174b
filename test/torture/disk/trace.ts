import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('./recorder.c', import.meta.url));

/** Compiles the recorder into the folder. @returns where it is, for LD_PRELOAD */
export function buildRecorder(folder: string): string {
  const library = join(folder, 'recorder.so');
  const { status, stderr, error } = spawnSync(
    'cc',
    ['-shared', '-fPIC', '-O2', '-pthread', '-o', library, source],
    { encoding: 'utf8' },
  );
  assert.equal(status, 0, `the recorder cannot be compiled: ${stderr ?? error}`);
  return library;
}

/** As `enum what` in recorder.c counts them. */
const kinds = [
  'create',
  'write',
  'truncate',
  'sync',
  'synced',
  'not synced',
  'link',
  'rename',
  'unlink',
  'mkdir',
  'reply',
  'undone',
  'fault',
] as const;

/** What a server did, as `struct record` in recorder.c has it. */
export interface TraceEvent {
  /**
   * `sync`: it has begun, and what was written before is on disk if, and when, the `synced` of the
   * same number comes. `fault`: a call was made to fail. `end`: the process has ended, and syncs that
   * it has begun will not end.
   */
  readonly what: Exclude<(typeof kinds)[number], 'undone'> | 'end';
  /** Relative to the recorded folder, which itself is ''. */
  readonly path: string;
  /** The offset of a write, the length of a truncated file, or the number of a sync. */
  readonly number: number;
  /** The data of a write or a reply, or the other path of a link or a rename. */
  readonly data: Buffer;
}

export const endOfProcess: TraceEvent = {
  what: 'end',
  path: '',
  number: 0,
  data: Buffer.alloc(0),
};

const headBytes = 24;

/**
 * Reads what one process has recorded. A record that is cut short is of something that the process
 * has not begun.
 *
 * @returns `last` is the last event, if it may have happened in part or not at all
 */
export function readTrace(path: string): { events: TraceEvent[]; last: TraceEvent | undefined } {
  const bytes = readFileSync(path);
  const events: TraceEvent[] = [];
  let isLastCertain = true;
  for (let at = 0, end = 0; at + headBytes <= bytes.length; at = end) {
    const dataAt = at + headBytes + bytes.readUInt32LE(at + 4);
    end = dataAt + Number(bytes.readBigUInt64LE(at + 16));
    if (end > bytes.length) break;
    const what = kinds[bytes.readUInt32LE(at) - 1];
    assert(what, `a record of an unknown kind at ${at} in ${path}`);
    isLastCertain = what === 'undone';
    if (what === 'undone') events.pop();
    else
      events.push({
        what,
        path: bytes.toString('utf8', at + headBytes, dataAt),
        number: Number(bytes.readBigUInt64LE(at + 8)),
        data: bytes.subarray(dataAt, end),
      });
  }
  return { events, last: isLastCertain ? undefined : events.pop() };
}
