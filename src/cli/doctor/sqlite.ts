import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileSystemOf } from '../../disk/file-system.ts';
import { obstacleTo } from '../../disk/obstacle.ts';
import { limits } from '../../limits.ts';
import { StoreError, StoreOpenError } from '../../store/errors.ts';
import type { SqliteLocation } from '../../store/location.ts';
import { commandFor, openReader } from '../../stores.ts';
import { CommandError } from '../command.ts';
import { type Check, error, type Finding, findings, type NamedFinding, ok } from './check.ts';
import {
  file,
  fileSystemType,
  folder,
  freeInodes,
  freeSpace,
  type StoreFile,
} from './disk-checks.ts';
import { clock, descriptors, user } from './machine-checks.ts';

/** Every check that opens nothing, in the order of the lines. */
const checks: readonly Check<StoreFile>[] = [
  { name: 'user', find: user },
  { name: 'clock', find: clock },
  { name: 'file system', find: fileSystemType },
  { name: 'free space', find: freeSpace },
  { name: 'free inodes', find: freeInodes },
  { name: 'file', find: file },
];

/** Does every check, without changing the store. @throws CommandError without permission */
export async function checkSqlite(
  location: SqliteLocation,
  userId: number | undefined,
): Promise<NamedFinding[]> {
  const storeFile = lookAt(location, userId);
  return [
    ...findings(checks, storeFile),
    { name: 'folder', ...folder(storeFile) },
    { name: 'descriptors', ...descriptors() },
    { name: 'schema', ...(await schema(storeFile)) },
  ];
}

/**
 * Does the checks of a start, in a millisecond.
 *
 * @returns warnings
 * @throws CommandError for a file system on which the store would be damaged
 */
export function checkSqliteStart(
  location: SqliteLocation,
  userId: number | undefined,
): NamedFinding[] {
  const found = findings(checks, lookAt(location, userId));
  const unfit = found.find(({ name, level }) => name === 'file system' && level === 'error');
  if (unfit) throw new CommandError(`${unfit.name}: ${unfit.says}`);
  return found.filter(({ level }) => level !== 'ok');
}

function lookAt(location: SqliteLocation, userId: number | undefined): StoreFile {
  const { path } = location;
  try {
    const facts = {
      file: statSync(path, { throwIfNoEntry: false }),
      fileSystem: fileSystemOf(path),
    };
    return { location, folder: dirname(resolve(path)), ...facts, userId, nowMs: Date.now() };
  } catch (cause) {
    const obstacle =
      obstacleTo(path) ?? `${(cause as Error).message}; run this as the owner of the store`;
    throw new CommandError(`cannot look at the store at ${resolve(path)}: ${obstacle}`, { cause });
  }
}

/** Says why the store cannot be opened. */
async function schema({ location, file: stats }: StoreFile): Promise<Finding> {
  const path = resolve(location.path);
  if (stats === undefined) {
    const obstacle = obstacleTo(location.path);
    if (obstacle !== undefined)
      return { level: 'error', says: `there is no store at ${path}: ${obstacle}` };
    return ok(`there is no store at ${path} yet; ${commandFor(location, 'serve')} makes the store`);
  }
  try {
    await using _ = await openReader(location, limits.cli.readMs);
    return ok('a plant store');
  } catch (cause) {
    // The message names the way out.
    if (cause instanceof StoreOpenError) return { level: 'error', says: cause.message };
    if (!(cause instanceof StoreError)) throw cause;
    return error(
      `the store cannot be read (${cause.message})`,
      `find the damage with ${commandFor(location, 'verify')}, and restore a backup`,
    );
  }
}
