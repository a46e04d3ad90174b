import { spawnSync } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { CommandError } from '../cli/command.ts';
import {
  type FileSystem,
  type FileSystemKind,
  fileSystemOf,
  isSpaceLow,
  nearestExisting,
} from '../disk/file-system.ts';
import { modeText } from '../disk/files.ts';
import { limits } from '../limits.ts';
import type { Finding, NamedFinding } from '../ops/contract.ts';
import { sizeText } from '../quantity-text.ts';
import { resolveEngine } from '../store/engine.ts';
import type { SqliteLocation, StoreLocation } from '../store/location.ts';

export function named(found: Readonly<Record<string, Finding | undefined>>): NamedFinding[] {
  return Object.entries(found).flatMap(([name, finding]) =>
    finding ? [{ ...finding, name }] : [],
  );
}

export function ok(figure: string): Finding {
  return { level: 'ok', says: figure };
}

export const warning = withRemedy('warning');
export const error = withRemedy('error');

function withRemedy(level: Finding['level']) {
  return (figure: string, remedy: string): Finding => ({ level, says: `${figure}; ${remedy}` });
}

/** @param identity undefined before the upgrade of an earlier version */
export function storeText(identity: string | undefined): string {
  return `a plant store${identity === undefined ? '' : ` with the identity ${identity}`}`;
}

/* The checks that open nothing: those of each start. */

/** @returns the warnings of a start @throws CommandError if the service must not start */
export function checkStart(location: StoreLocation, userId: number | undefined): NamedFinding[] {
  const found = resolveEngine<NamedFinding[]>(
    {
      sqlite: (file) => refuseUnfitFileSystem(checkOutside(lookAt(file, userId))),
      postgres: () => named({ user: user(userId) }),
    },
    location,
  );
  return found.filter(({ level }) => level !== 'ok');
}

/** @throws CommandError for a file system on which the store would be damaged */
function refuseUnfitFileSystem(found: NamedFinding[]): NamedFinding[] {
  const unfit = found.find(({ name, level }) => name === 'file system' && level === 'error');
  if (unfit) throw new CommandError(`${unfit.name}: ${unfit.says}`);
  return found;
}

export function user(userId: number | undefined): Finding | undefined {
  if (userId === undefined) return undefined;
  if (userId !== 0) return ok(`${userId}`);
  return warning(
    'the program runs as root, and does not need to',
    'run the program as a user of its own',
  );
}

export type StoreFile = ReturnType<typeof lookAt>;

/** Every check that opens nothing. */
export function checkOutside(store: StoreFile): NamedFinding[] {
  const { fileSystem } = store;
  return named({
    user: user(store.userId),
    'file system': fileSystemType(store),
    'free space': freeSpace(fileSystem),
    file: file(store),
  });
}

export function lookAt(location: SqliteLocation, userId: number | undefined) {
  const { path } = location;
  try {
    const file = statSync(path, { throwIfNoEntry: false });
    return { location, userId, file, fileSystem: fileSystemOf(path) };
  } catch (cause) {
    const { message } = cause as Error;
    throw new CommandError(
      `cannot look at the store at ${resolve(path)} as the user ${userId}: ${message}`,
      { cause },
    );
  }
}

const onFileSystem: Readonly<Record<FileSystemKind, (name: string) => Finding>> = {
  disk: ok,
  'copy on write': (name) =>
    warning(
      `${name} takes a free block for each write, so Linux ends the service on a full disk (SIGBUS)`,
      'type chattr +C for the folder of the store, and restart the service',
    ),
  network: (name) =>
    error(
      `${name} is shared by machines, and SQLite's locks and shared memory do not reach ` +
        'other machines',
      'name a store on a local disk with --store',
    ),
  memory: (name) =>
    warning(
      `${name} is memory: a power cut loses all plants`,
      'name a store on a disk with --store',
    ),
  overlay: (name) =>
    warning(
      `${name} is a layer over other file systems, such as a container's own, and is ` +
        'removed with the container',
      'mount a volume for the store',
    ),
  'passed on': (name) =>
    warning(
      `${name} is passed on to another program or the host, which decides whether a sync ` +
        'reaches a disk',
      'name a store on a local disk with --store, or find out what that program or host does',
    ),
};

function fileSystemType({ location: { path }, fileSystem: { type } }: StoreFile): Finding {
  if (type?.kind === 'copy on write' && isWrittenInPlace(nearestExisting(dirname(path))))
    return ok(`${type.name}, and files in the folder of the store are written in place`);
  if (type) return onFileSystem[type.kind](type.name);
  return ok(
    process.platform === 'linux'
      ? 'an unknown type, which is not in the list of unfit types'
      : 'the type is known on Linux only',
  );
}

/** Whether new files there have the attribute C of chattr(1). Node cannot ask Linux for it. */
function isWrittenInPlace(folder: string): boolean {
  return /^\S*C/.test(spawnSync('lsattr', ['-d', folder], { encoding: 'utf8' }).stdout ?? '');
}

function freeSpace({ bytes, freeBytes }: FileSystem): Finding | undefined {
  if (bytes === 0) return undefined;
  const percent = (100 * freeBytes) / bytes;
  const figure = `${sizeText(freeBytes)} are free, ${percent.toFixed(0)} % of ${sizeText(bytes)}`;
  const remedy =
    'make room, or name a store on a larger disk with --store; without room, creates get 503';
  if (freeBytes < limits.disk.freeBytesMin) return error(figure, remedy);
  return isSpaceLow({ bytes, freeBytes }) ? warning(figure, remedy) : ok(figure);
}

function file({ location: { path }, file: stats, userId }: StoreFile): Finding | undefined {
  if (stats === undefined || userId === undefined) return undefined;
  const figure = `${path} has mode ${modeText(stats.mode)} and belongs to user ${stats.uid}`;
  if (!isAllowed(path, constants.R_OK | constants.W_OK))
    return error(`${figure}: the file cannot be written`, `give the file to user ${userId}`);
  if (stats.uid !== userId)
    return warning(`${figure}, not to ${userId}`, 'run all commands as the owner of the store');
  if ((stats.mode & 0o077) !== 0)
    return warning(`${figure}: other users may read or write the store`, `chmod 600 ${path}`);
  return ok(figure);
}

export function isAllowed(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    // For any reason.
    return false;
  }
}
