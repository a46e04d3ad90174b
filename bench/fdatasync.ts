import { closeSync, fdatasyncSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { percentile } from './statistics.ts';

const fileBytes = 4 * 1024 * 1024;
const pageBytes = 4096;

/**
 * The median time of an fdatasync, in milliseconds, with one page written before each: what the disk asks for any promise
 * of durability. The file's blocks are allocated beforehand, so that only data is waited for and not the
 * file system's journal: a floor that a store which appends cannot quite reach.
 */
export function fdatasyncP50Ms(path: string, durationMs: number): number {
  const file = openSync(path, 'w');
  try {
    writeSync(file, Buffer.alloc(fileBytes, 1));
    fsyncSync(file);
    return timeSyncs(file, durationMs);
  } finally {
    closeSync(file);
    rmSync(path);
  }
}

function timeSyncs(file: number, durationMs: number): number {
  const page = Buffer.alloc(pageBytes, 2);
  const timesMs: number[] = [];
  const endMs = performance.now() + durationMs;
  for (let position = 0; performance.now() < endMs; position = (position + pageBytes) % fileBytes) {
    writeSync(file, page, 0, pageBytes, position);
    const startMs = performance.now();
    fdatasyncSync(file);
    timesMs.push(performance.now() - startMs);
  }
  return percentile(Float64Array.from(timesMs).sort(), 0.5);
}
