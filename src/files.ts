import { closeSync, constants, existsSync, fsyncSync, linkSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Makes the folder and those above it, so that they are still there after a power cut. */
export function makeFolderDurably(path: string): void {
  if (existsSync(path)) return;
  const firstMade = mkdirSync(path, { recursive: true, mode: 0o750 });
  if (firstMade === undefined) return;
  const above = dirname(firstMade);
  for (let folder = path; folder !== above; folder = dirname(folder)) syncFolder(folder);
  syncFolder(above);
}

/**
 * Makes the file whole or not at all: under another name first, then linked to its own. `mode` as in chmod(2). One that is
 * there already is left as it is. It is there after a power cut, unless the process runs under Node's permission model, which
 * knows no fsync(2): then its name may be lost.
 */
export function createFileDurably(path: string, content: string, mode: number): void {
  const unfinished = `${path}.${process.pid}.unfinished`;
  try {
    const descriptor = openSync(unfinished, constants.O_CREAT | constants.O_TRUNC | constants.O_WRONLY | writeThrough, mode);
    writeFileSync(descriptor, content);
    closeSync(descriptor);
    linkSync(unfinished, path);
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
  } finally {
    rmSync(unfinished, { force: true });
  }
  // Also for one that was there: whoever made it may have been killed before this.
  syncFolder(dirname(path));
}

/** Each write is on disk when it returns (open(2)). Windows does not have it. */
const writeThrough = constants.O_SYNC ?? 0;

/** Makes an empty file with `mode`, as in chmod(2), if there is none. */
export function makeFile(path: string, mode: number): void {
  closeSync(openSync(path, 'a', mode));
}

export function isErrno(error: unknown, code: string): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && error.code === code;
}

function syncFolder(path: string): void {
  // Windows has no way to sync a folder; NTFS journals names by itself.
  if (process.platform === 'win32' || process.permission !== undefined) return;
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
