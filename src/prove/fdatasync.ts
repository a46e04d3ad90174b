import { closeSync, fdatasyncSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { limits } from '../limits.ts';

const fileBytes = 4 * 1024 * 1024;
const { pageBytes } = limits.sqlite;

/**
 * Measures fdatasync, each after a write of one page, in blocks that are allocated before: the
 * journal of the file system takes no part, and a store that appends is slower. In ms, in ascending
 * order.
 */
export function fdatasyncTimesMs(path: string, durationMs: number): Float64Array {
  const file = openSync(path, 'wx', 0o600);
  try {
    writeSync(file, Buffer.alloc(fileBytes, 1));
    fsyncSync(file);
    return timeSyncs(file, durationMs);
  } finally {
    closeSync(file);
    rmSync(path);
  }
}

function timeSyncs(file: number, durationMs: number): Float64Array {
  const page = Buffer.alloc(pageBytes, 2);
  const timesMs: number[] = [];
  const endMs = performance.now() + durationMs;
  for (let position = 0; performance.now() < endMs; position = (position + pageBytes) % fileBytes) {
    writeSync(file, page, 0, pageBytes, position);
    const startMs = performance.now();
    fdatasyncSync(file);
    timesMs.push(performance.now() - startMs);
  }
  return Float64Array.from(timesMs).sort();
}

/** Nearest rank. @param share from 0 to 1 */
export function percentile(ascending: ArrayLike<number>, share: number): number {
  return ascending[Math.max(0, Math.ceil(share * ascending.length) - 1)] ?? Number.NaN;
}
