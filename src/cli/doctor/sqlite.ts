import { spawnSync } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import {
  type FileSystem,
  type FileSystemKind,
  fileSystemOf,
  isSpaceLow,
  nearestExisting,
} from '../../disk/file-system.ts';
import { modeText } from '../../disk/files.ts';
import { obstacleTo } from '../../disk/obstacle.ts';
import { limits } from '../../limits.ts';
import { sizeText } from '../../quantity-text.ts';
import { storeOfPackage } from '../../store/command-text.ts';
import { StoreError, StoreOpenError } from '../../store/errors.ts';
import type { SqliteLocation } from '../../store/location.ts';
import { commandFor, openReader, sqliteEngine } from '../../stores.ts';
import { CommandError } from '../command.ts';
import { error, type Finding, type NamedFinding, named, ok, storeText, warning } from './check.ts';
import { descriptors, user } from './machine-checks.ts';

/** Does every check, without changing the store. @throws CommandError without permission */
export async function checkSqlite(
  location: SqliteLocation,
  userId: number | undefined,
): Promise<NamedFinding[]> {
  const store = lookAt(location, userId);
  return [
    ...checkOutside(store),
    ...named({
      folder: folder(store),
      descriptors: descriptors(),
      sync: await sync(location),
      schema: await schema(store),
    }),
  ];
}

/** @throws CommandError for a file system on which the store would be damaged */
export function checkSqliteStart(
  location: SqliteLocation,
  userId: number | undefined,
): NamedFinding[] {
  const found = checkOutside(lookAt(location, userId));
  const unfit = found.find(({ name, level }) => name === 'file system' && level === 'error');
  if (unfit) throw new CommandError(`${unfit.name}: ${unfit.says}`);
  return found.filter(({ level }) => level !== 'ok');
}

type StoreFile = ReturnType<typeof lookAt>;

/** Every check that opens nothing. */
function checkOutside(store: StoreFile): NamedFinding[] {
  const { fileSystem } = store;
  return named({
    user: user(store.userId),
    'file system': fileSystemType(store),
    'free space': freeSpace(fileSystem),
    file: file(store),
  });
}

function lookAt(location: SqliteLocation, userId: number | undefined) {
  const { path } = location;
  try {
    const file = statSync(path, { throwIfNoEntry: false });
    return { location, userId, file, fileSystem: fileSystemOf(path) };
  } catch (cause) {
    const obstacle =
      obstacleTo(path) ??
      `${(cause as Error).message}; look for errors of the disk in the log of the kernel (dmesg)`;
    throw new CommandError(`cannot look at the store at ${resolve(path)}: ${obstacle}`, { cause });
  }
}

async function sync(location: SqliteLocation): Promise<Finding | undefined> {
  const says = await sqliteEngine(location).doubt();
  return says === undefined ? undefined : { level: 'error', says };
}

async function schema({ location, file: stats }: StoreFile): Promise<Finding> {
  const path = resolve(location.path);
  if (!stats?.size) {
    const ofPackage = storeOfPackage(location.path);
    if (ofPackage !== undefined) return warning(`there is no store at ${path}`, ofPackage);
    const obstacle = obstacleTo(location.path);
    if (obstacle !== undefined)
      return { level: 'error', says: `there is no store at ${path}: ${obstacle}` };
    return ok(`there is no store at ${path} yet; ${commandFor(location, 'serve')} makes the store`);
  }
  try {
    await using store = await openReader(location, limits.cli.readMs);
    const triggers = await sqliteEngine(location).triggers();
    if (triggers) return error(`the store has ${triggers.says}`, triggers.remedy);
    return ok(storeText((await store.identity())?.identity));
  } catch (cause) {
    // The message names the way out.
    if (cause instanceof StoreOpenError) return { level: 'error', says: cause.message };
    if (!(cause instanceof StoreError)) throw cause;
    return error(
      `the store cannot be read (${cause.message})`,
      `find the cause with ${commandFor(location, 'verify')}`,
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

function folder({ location }: StoreFile): Finding {
  const path = dirname(resolve(location.path));
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

function isAllowed(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    // For any reason.
    return false;
  }
}
