import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  readSync,
  realpathSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { sizeText } from '../quantity-text.ts';

/** Makes a folder and its missing parents. They survive a power cut. */
export function makeFolderDurably(path: string): void {
  if (existsSync(path)) return;
  const firstMade = mkdirSync(path, { recursive: true, mode: 0o750 });
  if (firstMade === undefined) return;
  const above = dirname(firstMade);
  for (let folder = path; folder !== above; folder = dirname(folder)) syncFolder(folder);
  syncFolder(above);
}

/**
 * Makes a file whole or not at all, under a temporary name that is then linked to `path`. The file
 * survives a power cut.
 *
 * @param content or what writes to a descriptor
 * @returns false if `path` exists already, which is left as it is
 */
export function createFileDurably(
  path: string,
  content: string | ((descriptor: number) => void),
): boolean {
  const unfinished = `${path}.${process.pid}.unfinished`;
  try {
    // A killed process with the same id may have left this file. With O_EXCL, no link is followed.
    rmSync(unfinished, { force: true });
    // With O_SYNC, a write returns when it is on disk (open(2)). Windows has no such flag.
    const { O_CREAT, O_EXCL, O_WRONLY, O_SYNC = 0 } = constants;
    {
      using file = openFile(unfinished, O_CREAT | O_EXCL | O_WRONLY | O_SYNC, 0o600);
      if (typeof content === 'string') writeFileSync(file.descriptor, content);
      else content(file.descriptor);
    }
    return linkDurably(unfinished, path);
  } finally {
    rmSync(unfinished, { force: true });
  }
}

/** Removes a file. It stays removed after a power cut. */
export function removeFileDurably(path: string): void {
  rmSync(path, { force: true });
  syncFolder(dirname(path));
}

/** A file is not as it must be. The message names the file, and says what is wrong. */
export class UnfitFileError extends Error {
  override readonly name = 'UnfitFileError';
}

/** Flags of open(2) that do not wait for the writer of a pipe. Windows has no such flag. */
export const forReading = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/**
 * Reads a small file, such as a secret. Links are followed: the secrets of containers are links.
 *
 * @throws UnfitFileError for what is no regular file, or is larger; errors of the file system
 */
export function readSmallFile(path: string, bytesMax: number): string {
  using file = openFile(path, forReading);
  demandSmall(fstatSync(file.descriptor), path, bytesMax);
  return readFileSync(file.descriptor, 'utf8');
}

/**
 * Reads a small file that only the user of this process can have written and read, and that is no
 * symbolic link. Windows has neither owners nor modes, and is not checked.
 *
 * @throws UnfitFileError, whose message says what to do; errors of the file system
 */
export function readOwnFile(path: string, bytesMax: number): string {
  using file = openItself(path);
  const stats = fstatSync(file.descriptor);
  demandSmall(stats, path, bytesMax);
  demandOwn(stats, path);
  return readFileSync(file.descriptor, 'utf8');
}

/** Its disposal closes the file. */
export function openFile(path: string, flags: string | number, mode?: number) {
  const descriptor = openSync(path, flags, mode);
  return { descriptor, [Symbol.dispose]: () => closeSync(descriptor) };
}

/** The first bytes of a file, and zeros behind its end. */
export function startOf(path: string, bytes: number, flags = forReading): Buffer {
  using file = openFile(path, flags);
  const start = Buffer.alloc(bytes);
  readSync(file.descriptor, start);
  return start;
}

function openItself(path: string) {
  try {
    return openFile(path, forReading | (constants.O_NOFOLLOW ?? 0));
  } catch (error) {
    if (!isErrno(error, 'ELOOP')) throw error;
    throw new UnfitFileError(`${path} is a symbolic link; check who has made it, and remove it`);
  }
}

function demandOwn({ uid, mode }: Stats, path: string): void {
  if (!hasModes) return;
  const userId = process.geteuid?.();
  const wayOut = 'check who has made it, and remove it, or type';
  if (uid !== userId)
    throw new UnfitFileError(
      `${path} belongs to the user ${uid}, and this program runs as the user ${userId}; ` +
        `${wayOut} chown ${userId} ${path}`,
    );
  if ((mode & 0o066) !== 0)
    throw new UnfitFileError(
      `${path} has mode ${modeText(mode)}, so other users can read or write it; ` +
        `${wayOut} chmod 600 ${path}`,
    );
}

/** Four octal digits, as chmod(1) takes them. */
export function modeText(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, '0');
}

/** As `readSmallFile`, without blocking the thread. */
export async function readSmallFileLater(path: string, bytesMax: number) {
  await using file = await open(path, forReading);
  const stats = await file.stat();
  demandSmall(stats, path, bytesMax);
  return { text: await file.readFile('utf8'), isOpenToAll: isOpenToAll(stats) };
}

/** Whether users may read or write it who are neither its owner nor in its group. */
function isOpenToAll({ mode }: Stats): boolean {
  return hasModes && (mode & 0o006) !== 0;
}

const hasModes = process.platform !== 'win32';

function demandSmall(stats: Stats, path: string, bytesMax: number): void {
  if (!stats.isFile()) throw new UnfitFileError(`${path} is not a regular file`);
  if (stats.size > bytesMax)
    throw new UnfitFileError(`${path} is larger than ${sizeText(bytesMax)}`);
}

/** Makes an empty file for this user. An existing file is left as it is. */
export function makeFile(path: string): void {
  openFile(path, 'a', 0o600)[Symbol.dispose]();
}

/** Gives a file a second name, durably. @returns false if `path` exists, which is left as it is */
export function linkDurably(file: string, path: string): boolean {
  let isNew = true;
  try {
    linkSync(file, path);
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
    isNew = false;
  }
  // Also for an existing name: its process may have been killed before the sync.
  syncFolder(dirname(path));
  return isNew;
}

/**
 * Without symbolic links. Neither the path nor the target of a link has to exist. More links in a
 * row are a loop, as in Linux (path_resolution(7)).
 */
export function withoutLinks(path: string, linksLeft = 40): string {
  if (linksLeft === 0 || existsSync(path)) return realpathSync(path);
  const absolute = resolve(path);
  if (dirname(absolute) === absolute) return absolute;
  const folder = withoutLinks(dirname(absolute), linksLeft);
  const isLink = lstatSync(absolute, { throwIfNoEntry: false })?.isSymbolicLink();
  return isLink
    ? withoutLinks(resolve(folder, readlinkSync(absolute)), linksLeft - 1)
    : join(folder, basename(absolute));
}

/** Whether two paths name one file, by symbolic or hard links too. The file need not exist. */
export function isSameFile(one: string, other: string): boolean {
  const inode = inodeOf(one);
  return inode === undefined ? withoutLinks(one) === withoutLinks(other) : inode === inodeOf(other);
}

/** Device and inode, as text: on Windows both exceed the safe integers. */
export function inodeOf(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

export function isAbsentLater(path: string): Promise<boolean> {
  return stat(path).then(
    () => false,
    (error) => isErrno(error, 'ENOENT') || isErrno(error, 'ENOTDIR'),
  );
}

export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

export function isErrno(error: unknown, code: string): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && error.code === code;
}

export function syncFile(path: string, flags = 'r+'): void {
  using file = openFile(path, flags);
  fsyncSync(file.descriptor);
}

export function syncFolder(path: string): void {
  // Windows cannot sync a folder. NTFS journals names.
  if (process.platform !== 'win32') syncFile(path, 'r');
}

/** A time in the name of a file: ISO 8601 in UTC, to the second, without punctuation. */
export function compactTime(time: Date): string {
  return time.toISOString().replaceAll(/[-:]|\.[0-9]+/g, '');
}
