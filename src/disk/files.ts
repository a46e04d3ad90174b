import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  rmSync,
  type Stats,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { sizeText } from '../size-text.ts';

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
 * Makes the file whole or not at all: under another name first, then linked to its own. `mode` as
 * in chmod(2). It is there after a power cut.
 *
 * @returns false if there is something of that name already; it is left as it is
 */
export function createFileDurably(path: string, content: string, mode: number): boolean {
  const unfinished = `${path}.${process.pid}.unfinished`;
  try {
    // A killed process of the same number may have left one. Whatever else has the name, such as a
    // link, is not written to.
    rmSync(unfinished, { force: true });
    const descriptor = openSync(
      unfinished,
      constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | writeThrough,
      mode,
    );
    writeFileSync(descriptor, content);
    closeSync(descriptor);
    return linkDurably(unfinished, path);
  } finally {
    rmSync(unfinished, { force: true });
  }
}

/** Removes the file, so that it is still gone after a power cut. */
export function removeFileDurably(path: string): void {
  rmSync(path, { force: true });
  syncFolder(dirname(path));
}

/** A file cannot be read whole. The message names the file and says why. */
export class UnfitFileError extends Error {
  override readonly name = 'UnfitFileError';
}

/** Flags of open(2) to read without waiting for the writer of a pipe. Windows has no such flag. */
export const forReading = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/**
 * Reads a file that is known to be small, such as one with a secret. Symbolic links are followed,
 * as container secrets are such links.
 *
 * @throws UnfitFileError for a pipe, a device or a folder, and for more than `bytesMax`; the errors
 * of the file system
 */
export function readSmallFile(path: string, bytesMax: number): string {
  const descriptor = openSync(path, forReading);
  try {
    demandRegular(fstatSync(descriptor), path);
    const content = Buffer.alloc(bytesMax + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length <= bytesMax; length += read)
      read = readSync(descriptor, content, { offset: length });
    return demandSmall(content.subarray(0, length), path, bytesMax).toString();
  } finally {
    closeSync(descriptor);
  }
}

/** `readSmallFile` for a thread that must not wait for a disk. */
export async function readSmallFileLater(
  path: string,
  bytesMax: number,
): Promise<{ content: Buffer; mode: number }> {
  await using file = await open(path, forReading);
  const stats = await file.stat();
  demandRegular(stats, path);
  const chunks = await file.createReadStream({ end: bytesMax, autoClose: false }).toArray();
  return { content: demandSmall(Buffer.concat(chunks), path, bytesMax), mode: stats.mode };
}

function demandRegular(stats: Stats, path: string): void {
  if (!stats.isFile())
    throw new UnfitFileError(`${path} is ${kindOf(stats)} and not a regular file`);
}

function kindOf(stats: Stats): string {
  if (stats.isFIFO()) return 'a pipe';
  if (stats.isDirectory()) return 'a folder';
  return stats.isSocket() ? 'a socket' : 'a device';
}

function demandSmall(content: Buffer, path: string, bytesMax: number): Buffer {
  if (content.length <= bytesMax) return content;
  throw new UnfitFileError(`${path} has more than ${bytesMax} bytes`);
}

/** Each write is on disk when it returns (open(2)). Windows does not have it. */
const writeThrough = constants.O_SYNC ?? 0;

/** Makes an empty file with `mode`, as in chmod(2). An existing file is left as it is. */
export function makeFile(path: string, mode: number): void {
  closeSync(openSync(path, 'a', mode));
}

/**
 * Gives a file that is on disk a second name, durably.
 *
 * @returns false if there is something of that name already; it is left as it is
 */
export function linkDurably(file: string, path: string): boolean {
  let isNew = true;
  try {
    linkSync(file, path);
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
    isNew = false;
  }
  // Also for an existing name: the process that made the name may have been killed before its sync.
  syncFolder(dirname(path));
  return isNew;
}

/**
 * What keeps the user of this process from a file: a folder or a file that this user may not use, a
 * file where a folder should be, or a link that leads nowhere.
 *
 * @param mode of access(2): what is to be done with the file, if there is one
 * @returns a clause with what to do about that; undefined if nothing does, or there is simply no
 * file
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

function deadLink(path: string): string | undefined {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return undefined;
  return `${path} is a link to ${readlinkSync(path)}, which does not exist; mount or make what the link leads to`;
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
    // The caller says which folder hides it.
    return undefined;
  }
}

function mayNot(what: string, path: string): string {
  const owner = visible(path)?.uid;
  const asOwner = `run this as the user that owns it (uid ${owner}), or let this user do that`;
  return `${userName()} may not ${what} ${path}; ${owner === process.geteuid?.() ? 'change its mode with chmod' : asOwner}`;
}

function userName(): string {
  try {
    return `the user ${userInfo().username}`;
  } catch {
    // It has a number only.
    return `the user with the uid ${process.geteuid?.()}`;
  }
}

/**
 * Links that are followed one after the other, as in Linux (path_resolution(7)); more of them are a
 * loop.
 */
const linksMax = 40;

/** The path without symbolic links. There need not be anything yet, also not where a link leads. */
export function withoutLinks(path: string, linksLeft = linksMax): string {
  if (linksLeft === 0 || existsSync(path)) return realpathSync(path);
  const absolute = resolve(path);
  if (dirname(absolute) === absolute) return absolute;
  const folder = withoutLinks(dirname(absolute), linksLeft);
  const isLink = lstatSync(absolute, { throwIfNoEntry: false })?.isSymbolicLink();
  return isLink
    ? withoutLinks(resolve(folder, readlinkSync(absolute)), linksLeft - 1)
    : join(folder, basename(absolute));
}

/** Whether both paths name one file, also by links of either kind, or would if it was there. */
export function isSameFile(one: string, other: string): boolean {
  const identity = identityOf(one);
  return identity === undefined
    ? withoutLinks(one) === withoutLinks(other)
    : identity === identityOf(other);
}

/** Device and inode. They have more digits than a number holds, on Windows at least. */
export function identityOf(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

/** @returns what to say if so many bytes do not fit into the folder */
export function shortOfRoom(folder: string, bytes: number): string | undefined {
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize >= bytes) return undefined;
  return `the disk is too full: the copy takes ${sizeText(bytes)}, and ${sizeText(bavail * bsize)} are free in ${folder}`;
}

/** Whether the operating system refused something. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

export function isErrno(error: unknown, code: string): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && error.code === code;
}

export function syncFile(path: string): void {
  const descriptor = openSync(path, 'r+');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

export function syncFolder(path: string): void {
  // Windows has no way to sync a folder; NTFS journals names by itself.
  if (process.platform === 'win32') return;
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
