import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { StoreLocation } from '../../store/location.ts';
import { engineOf } from '../../stores.ts';
import { CommandError } from '../command.ts';
import { type BackupName, formatBackupName, parseBackupName } from './backup-name.ts';
import { manifestPath } from './manifest.ts';

/** A backup in a folder that has all its files. */
export interface ListedBackup extends BackupName {
  readonly path: string;
}

/** The backups in a folder, oldest first: each with its manifest, and an increment with its base. */
export function listBackups(folder: string): ListedBackup[] {
  const all = readdirSync(folder).flatMap((file) => {
    const name = parseBackupName(file);
    return name === undefined ? [] : [{ ...name, path: join(folder, file) }];
  });
  const hasAllFiles = ({ path }: ListedBackup) =>
    partsOf(path).every((part) => existsSync(part) && existsSync(manifestPath(part)));
  return all.filter(hasAllFiles).toSorted((one, other) => one.at.valueOf() - other.at.valueOf());
}

/** The files of a backup with plants: the full backup first, then the increment, if it is one. */
export function partsOf(backup: string): readonly string[] {
  const base = baseOf(backup);
  return base === undefined ? [backup] : [base, backup];
}

/** The full backup that an increment belongs to. */
function baseOf(backup: string): string | undefined {
  const name = parseBackupName(basename(backup));
  if (name?.since === undefined) return undefined;
  return join(dirname(backup), formatBackupName({ ...name, at: name.since, since: undefined }));
}

/** `partsOf` a backup whose parts are all there. @throws CommandError */
export function demandParts(backup: string): readonly string[] {
  const [base = backup] = partsOf(backup);
  if (existsSync(base)) return partsOf(backup);
  throw new CommandError(
    `${backup} needs its full backup ${base}, which is not there; put both files and their manifests into one folder`,
  );
}

/**
 * The backup that a command names: a file, or the newest backup in a folder, of the store if the
 * folder has backups of several stores.
 *
 * @throws CommandError if the folder has none
 */
export function resolveBackup(path: string, location: StoreLocation): string {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path;
  const backups = listBackups(path);
  const name = engineOf(location).backupName;
  const named = backups.filter(({ store }) => store === name);
  const stores = [...new Set(backups.map(({ store }) => store))];
  if (named.length === 0 && stores.length > 1)
    throw new CommandError(
      `the folder ${path} has backups of several stores (${stores.join(', ')}), and none of a store with the name ${name}; name a file`,
    );
  const newest = (named.length === 0 ? backups : named).at(-1);
  if (newest !== undefined) return newest.path;
  throw new CommandError(
    `there is no backup with its manifest in the folder ${path}; name a file, or another folder`,
  );
}
