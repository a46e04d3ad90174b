import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { skipsAreForbidden } from '../../helpers/skips.ts';

const source = fileURLToPath(new URL('./recorder.c', import.meta.url));

/** Options of a test that needs the recorder: it says why it is skipped where there is none. */
export function skipWithoutRecorder(): { readonly skip: string | false } {
  if (skipsAreForbidden) return { skip: false };
  if (process.platform !== 'linux')
    return { skip: 'the recorder of file changes is for Linux only' };
  const found = spawnSync('cc', ['--version']).status === 0;
  return { skip: found ? false : 'there is no C compiler (cc) for the recorder of file changes' };
}

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

/**
 * What a server did, in the order in which it did it. Paths are relative to the recorded folder,
 * which itself is ''.
 */
export type TraceEvent =
  | { readonly what: 'create' | 'unlink' | 'mkdir'; readonly path: string }
  | {
      readonly what: 'write';
      readonly path: string;
      readonly offset: number;
      readonly data: Buffer;
    }
  | { readonly what: 'truncate'; readonly path: string; readonly length: number }
  /**
   * It has begun; what was written before is on disk if, and when, the `synced` of the same number
   * comes.
   */
  | {
      readonly what: 'sync' | 'synced' | 'not synced';
      readonly path: string;
      readonly sync: number;
    }
  | { readonly what: 'link' | 'rename'; readonly path: string; readonly to: string }
  | { readonly what: 'reply'; readonly data: Buffer }
  /** A call was made to fail. */
  | { readonly what: 'fault'; readonly path: string }
  /** The process has ended; syncs that it has begun will not end. */
  | { readonly what: 'end' };

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

const headBytes = 24;

export interface Trace {
  readonly events: TraceEvent[];
  /**
   * Where in the file the record of the last event begins, in bytes; undefined if that is the whole
   * truth.
   */
  readonly lastAt: number | undefined;
}

/**
 * Reads what one process has recorded. A last record that is cut short is of something that the
 * process has not begun.
 */
export function readTrace(path: string): Trace {
  const bytes = readFileSync(path);
  const events: TraceEvent[] = [];
  let lastAt: number | undefined;
  let at = 0;
  while (at + headBytes <= bytes.length) {
    const dataAt = at + headBytes + bytes.readUInt32LE(at + 4);
    const end = dataAt + Number(bytes.readBigUInt64LE(at + 16));
    if (end > bytes.length) break;
    const kind = kinds[bytes.readUInt32LE(at) - 1];
    assert(kind, `a record of an unknown kind at ${at} in ${path}`);
    const number = Number(bytes.readBigUInt64LE(at + 8));
    const event = eventOf(
      kind,
      bytes.toString('utf8', at + headBytes, dataAt),
      number,
      bytes.subarray(dataAt, end),
    );
    if (event === 'undone') events.pop();
    else events.push(event);
    lastAt = event === 'undone' ? undefined : at;
    at = end;
  }
  return { events, lastAt };
}

/** Replaces the last record, at `lastAt`, by that of a shorter write, or by none. */
export function amendTrace(
  path: string,
  lastAt: number,
  write: Extract<TraceEvent, { what: 'write' }> | undefined,
): void {
  truncateSync(path, lastAt);
  if (write === undefined) return;
  const head = Buffer.alloc(headBytes);
  head.writeUInt32LE(1 + kinds.indexOf('write'), 0);
  head.writeUInt32LE(Buffer.byteLength(write.path), 4);
  head.writeBigUInt64LE(BigInt(write.offset), 8);
  head.writeBigUInt64LE(BigInt(write.data.length), 16);
  appendFileSync(path, Buffer.concat([head, Buffer.from(write.path), write.data]));
}

function eventOf(
  what: (typeof kinds)[number],
  path: string,
  number: number,
  data: Buffer,
): TraceEvent | 'undone' {
  switch (what) {
    case 'create':
    case 'unlink':
    case 'mkdir':
    case 'fault':
      return { what, path };
    case 'write':
      return { what, path, offset: number, data };
    case 'truncate':
      return { what, path, length: number };
    case 'sync':
    case 'synced':
    case 'not synced':
      return { what, path, sync: number };
    case 'link':
    case 'rename':
      return { what, path, to: data.toString() };
    case 'reply':
      return { what, data };
    case 'undone':
      return what;
    default:
      return what satisfies never;
  }
}
