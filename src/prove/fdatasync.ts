import { closeSync, fdatasyncSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';

const fileBytes = 4 * 1024 * 1024;
const pageBytes = 4096;

/**
 * The times of an fdatasync with one page written before each, in milliseconds and ascending order:
 * what the disk asks for any promise of durability. The file's blocks are allocated beforehand, so
 * that only data is waited for and not the file system's journal: a floor that a store which
 * appends cannot quite reach. There is no file at `path` before or after.
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
