import { accessSync, constants, type Stats, statSync } from 'node:fs';
import {
  type FileSystem,
  type FileSystemKind,
  isSpaceLow,
  nearestExisting,
} from '../../disk/file-system.ts';
import { limits } from '../../limits.ts';
import { sizeText } from '../../size-text.ts';
import type { SqliteLocation } from '../../store/location.ts';
import { error, type Finding, ok, warning } from './check.ts';
import type { Machine } from './machine-checks.ts';

/** The file that is to hold a store, and where it is. */
export interface StoreFile extends Machine {
  readonly location: SqliteLocation;
  readonly folder: string;
  /** Undefined if there is no store yet. */
  readonly file: Stats | undefined;
  readonly fileSystem: FileSystem;
}

const onFileSystem: Readonly<Record<FileSystemKind, (name: string) => Finding>> = {
  disk: ok,
  network: (name) =>
    error(
      `${name} is shared by machines, and SQLite's locks and shared memory do not reach across them`,
      'name a store on a local disk with --store',
    ),
  memory: (name) =>
    warning(
      `${name} is memory: what was answered with 200 is gone after a power cut`,
      'name a store on a disk with --store',
    ),
  overlay: (name) =>
    warning(
      `${name} is a layer over others, as a container's own, which goes with it`,
      'mount a volume for the store',
    ),
  'passed on': (name) =>
    warning(
      `${name} is passed on to another program or the host, and only that knows whether a sync reaches a disk`,
      'name a store on a local disk with --store, or find out what is behind it',
    ),
};

export function fileSystemType({ fileSystem: { type } }: StoreFile): Finding {
  if (type) return onFileSystem[type.kind](type.name);
  return ok(
    process.platform === 'linux'
      ? 'none of those that are known to be unfit'
      : 'its type is only known on Linux',
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
  const isThere = existing === path;
  if (!statSync(existing).isDirectory())
    return error(
      `${existing} is not a folder`,
      'move it away, or choose another store with --store',
    );
  if (!isAllowed(existing, constants.W_OK | constants.X_OK)) {
    return error(
      `no files can be made in ${existing}`,
      'give it to the user that the service runs as, on a disk that is mounted for writing',
    );
  }
  return ok(isThere ? `files can be made in ${path}` : `${path} can be made in ${existing}`);
}

export function file({ location: { path }, file: stats, userId }: StoreFile): Finding | undefined {
  if (stats === undefined || userId === undefined) return undefined;
  const mode = (stats.mode & 0o777).toString(8).padStart(4, '0');
  const figure = `${path} has mode ${mode} and belongs to user ${stats.uid}`;
  if (!isAllowed(path, constants.R_OK | constants.W_OK))
    return error(`${figure}: it cannot be written`, `give it to user ${userId}`);
  if (stats.uid !== userId)
    return warning(
      `${figure}, not to ${userId}`,
      'run all commands as the user that the store belongs to',
    );
  if ((stats.mode & 0o077) !== 0)
    return warning(`${figure}: others may read or write it`, `chmod 600 ${path}`);
  return ok(figure);
}

function isAllowed(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    // Whatever the reason, it cannot be done.
    return false;
  }
}
