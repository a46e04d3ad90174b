import {
  accessSync,
  closeSync,
  constants,
  lstatSync,
  openSync,
  readlinkSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import { constants as osConstants } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { sizeText } from '../quantity-text.ts';
import { fileSystemOf } from './file-system.ts';
import { isErrno, isSystemError } from './files.ts';

/**
 * Finds what keeps the user of this process from a file: a folder or file without permission, a
 * file in place of a folder, or a dead link.
 *
 * @param mode of access(2): how the file is to be used, if it exists
 * @returns a clause that says what to do; undefined if there is no obstacle, or simply no file
 */
export function obstacleTo(path: string, mode = constants.F_OK): string | undefined {
  const whole = resolve(path);
  const above = dirname(whole);
  const inFolder = above === whole ? undefined : obstacleTo(above);
  if (inFolder !== undefined) return inFolder;
  try {
    accessSync(whole, mode);
    return undefined;
  } catch (error) {
    if (isErrno(error, 'ENOTDIR'))
      return `${above} is a file and not a folder; move that file away`;
    if (isErrno(error, 'ENOENT')) return deadLink(whole);
    return isErrno(error, 'EACCES') ? denial(whole, mode) : undefined;
  }
}

/** What keeps a new file of this size from the folder, as a clause; found by making the file. */
export function obstacleToRoom(folder: string, neededBytes: number): string | undefined {
  const probe = join(folder, `.plant-store-${process.pid}`);
  try {
    const descriptor = openSync(probe, 'wx', 0o600);
    try {
      rmSync(probe);
      writeFileSync(descriptor, Buffer.alloc(neededBytes));
    } finally {
      closeSync(descriptor);
    }
    return undefined;
  } catch (error) {
    return isSystemError(error) ? lackOfRoom(folder, neededBytes, error) : undefined;
  }
}

function lackOfRoom(
  folder: string,
  neededBytes: number,
  { errno = 0 }: NodeJS.ErrnoException,
): string | undefined {
  const needs = `${sizeText(neededBytes)} are needed in ${folder}`;
  const { freeBytes, inodes, freeInodes } = fileSystemOf(folder);
  // By number: Node has no name for EDQUOT.
  if (-errno === EDQUOT) return `the quota is used up: ${needs}; make room, or raise the quota`;
  if (-errno === EROFS) return `the file system of ${folder} is read-only; mount it for writing`;
  if (-errno === EACCES) return mayNot('make files in', folder);
  if (-errno !== ENOSPC) return undefined;
  if (inodes === 0 || freeInodes > 0)
    return `the disk is full: ${needs}, and ${sizeText(freeBytes)} are free; make room`;
  return (
    `the disk is full: two more files are needed in ${folder}, and its file system has no free ` +
    'inodes; remove files there'
  );
}

const { ENOSPC, EDQUOT, EROFS, EACCES } = osConstants.errno;

function deadLink(path: string): string | undefined {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return undefined;
  return (
    `${path} is a link to ${readlinkSync(path)}, which does not exist; mount or make the ` +
    'target of the link'
  );
}

function denial(path: string, mode: number): string | undefined {
  const denied = visible(path);
  if (denied === undefined) return mayNot('look into the folder', dirname(path));
  if (denied.isSymbolicLink()) return obstacleTo(resolve(dirname(path), readlinkSync(path)), mode);
  return mayNot((mode & constants.W_OK) === 0 ? 'read' : 'read and write', path);
}

function visible(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    // The caller names the folder that hides the file.
    return undefined;
  }
}

function mayNot(what: string, path: string): string {
  const owner = visible(path)?.uid;
  const userId = process.geteuid?.();
  const wayOut =
    owner === userId
      ? 'change its mode with chmod'
      : `run this as the user that owns it (uid ${owner}), or let this user do that`;
  return `the user ${userId} may not ${what} ${path}; ${wayOut}`;
}
