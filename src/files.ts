import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Makes the folder and those above it, so that they are still there after a power cut. */
export function makeFolderDurably(path: string): void {
  const firstMade = mkdirSync(path, { recursive: true });
  if (firstMade === undefined) return;
  const above = dirname(firstMade);
  for (let folder = path; folder !== above; folder = dirname(folder)) syncFolder(folder);
  syncFolder(above);
}

/**
 * Makes the file whole or not at all: under another name first, then linked to its own. `mode` as in chmod(2).
 *
 * @returns false if there is such a file already; it is left as it is
 */
export function createFileDurably(path: string, content: string, mode: number): boolean {
  const unfinished = `${path}.${process.pid}.unfinished`;
  writeFileSync(unfinished, content, { mode, flush: true });
  try {
    linkSync(unfinished, path);
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw error;
  } finally {
    unlinkSync(unfinished);
  }
  syncFolder(dirname(path));
  return true;
}

export function isErrno(error: unknown, code: string): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && error.code === code;
}

function syncFolder(path: string): void {
  // Windows has no way to sync a folder; NTFS journals names by itself.
  if (process.platform === 'win32') return;
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
