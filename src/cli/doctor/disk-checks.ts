import { accessSync, constants, type Stats, statSync } from 'node:fs';
import {
  type FileSystem,
  type FileSystemKind,
  isSpaceLow,
  nearestExisting,
} from '../../disk/file-system.ts';
import { limits } from '../../limits.ts';
import { sizeText } from '../../quantity-text.ts';
import type { SqliteLocation } from '../../store/location.ts';
import { error, type Finding, ok, warning } from './check.ts';
import type { Machine } from './machine-checks.ts';

/** Facts about the file of a store, which may not exist. */
export interface StoreFile extends Machine {
  readonly location: SqliteLocation;
  readonly folder: string;
  /** Undefined without a store. */
  readonly file: Stats | undefined;
  readonly fileSystem: FileSystem;
}

const onFileSystem: Readonly<Record<FileSystemKind, (name: string) => Finding>> = {
  disk: ok,
  network: (name) =>
    error(
      `${name} is shared by machines, and SQLite's locks and shared memory do not reach other machines`,
      'name a store on a local disk with --store',
    ),
  memory: (name) =>
    warning(
      `${name} is memory: a power cut loses all plants`,
      'name a store on a disk with --store',
    ),
  overlay: (name) =>
    warning(
      `${name} is a layer over other file systems, such as a container's own, and is removed with the container`,
      'mount a volume for the store',
    ),
  'passed on': (name) =>
    warning(
      `${name} is passed on to another program or the host, which decides whether a sync reaches a disk`,
      'name a store on a local disk with --store, or find out what that program or host does',
    ),
};

export function fileSystemType({ fileSystem: { type } }: StoreFile): Finding {
  if (type) return onFileSystem[type.kind](type.name);
  return ok(
    process.platform === 'linux'
      ? 'an unknown type, which is not in the list of unfit types'
      : 'the type is known on Linux only',
  );
}

export function freeSpace({ fileSystem: { bytes, freeBytes } }: StoreFile): Finding | undefined {
  if (bytes === 0) return undefined;
  const percent = (100 * freeBytes) / bytes;
  const figure = `${sizeText(freeBytes)} are free, ${percent.toFixed(0)} % of ${sizeText(bytes)}`;
  const remedy =
    'make room, or name a store on a larger disk with --store; without room, creates get 503';
  if (freeBytes < limits.disk.freeBytesMin) return error(figure, remedy);
  return isSpaceLow({ bytes, freeBytes }) ? warning(figure, remedy) : ok(figure);
}

export function freeInodes({
  fileSystem: { inodes, freeInodes: free },
}: StoreFile): Finding | undefined {
  if (inodes === 0) return undefined;
  const figure = `${free} more files can be made there`;
  const remedy = 'remove files, or name a store on another disk with --store';
  if (free < limits.disk.freeInodesMin) return error(figure, remedy);
  return free < limits.disk.freeInodesLow ? warning(figure, remedy) : ok(figure);
}

export function folder({ folder: path }: StoreFile): Finding {
  const existing = nearestExisting(path);
  if (!statSync(existing).isDirectory())
    return error(
      `${existing} is not a folder`,
      'move that file away, or choose another store with --store',
    );
  if (!isAllowed(existing, constants.W_OK | constants.X_OK)) {
    return error(
      `no files can be made in ${existing}`,
      'give the folder to the user of the service, and mount the disk for writing',
    );
  }
  return ok(
    existing === path ? `files can be made in ${path}` : `${path} can be made in ${existing}`,
  );
}

export function file({ location: { path }, file: stats, userId }: StoreFile): Finding | undefined {
  if (stats === undefined || userId === undefined) return undefined;
  const mode = (stats.mode & 0o777).toString(8).padStart(4, '0');
  const figure = `${path} has mode ${mode} and belongs to user ${stats.uid}`;
  if (!isAllowed(path, constants.R_OK | constants.W_OK))
    return error(`${figure}: the file cannot be written`, `give the file to user ${userId}`);
  if (stats.uid !== userId)
    return warning(`${figure}, not to ${userId}`, 'run all commands as the owner of the store');
  if ((stats.mode & 0o077) !== 0)
    return warning(`${figure}: other users may read or write the store`, `chmod 600 ${path}`);
  return ok(figure);
}

function isAllowed(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    // For any reason.
    return false;
  }
}
