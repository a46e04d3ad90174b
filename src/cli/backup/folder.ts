import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { manifestEnding, manifestPath } from '../../backup/manifest.ts';
import {
  type BackupInSeries,
  backupsIn,
  formatBackupName,
  listSeries,
  parseBackupName,
  unkept,
} from '../../backup/series.ts';
import type { Retention } from '../../config/values.ts';
import { removeFileDurably } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import type { StoreLocation } from '../../store/location.ts';
import { engineOf, tryLockFile } from '../../stores.ts';
import { CommandError, type Terminal } from '../command.ts';

/**
 * Keeps other processes from making and thinning backups of the store in the folder, until
 * disposal, and removes what a killed process has left there. Waits for another process.
 */
export async function claimFolder(
  folder: string,
  store: string,
  terminal: Terminal,
): Promise<Disposable> {
  const path = join(folder, `.${store}.lock`);
  const deadlineMs = performance.now() + limits.backup.folderWaitMs;
  for (;;) {
    const lock = tryLock(path);
    if (lock) {
      removeLeftovers(folder, store);
      return lock;
    }
    if (performance.now() > deadlineMs)
      throw new CommandError(`another process works on the backups in ${folder}; try again later`);
    terminal.showProgress(`waiting for another process that works on the backups in ${folder}`);
    await pause(limits.backup.folderRetryMs);
  }
}

function tryLock(path: string): Disposable | undefined {
  try {
    return tryLockFile(path);
  } catch (cause) {
    const { message } = cause as Error;
    throw new CommandError(
      `cannot write ${path} (${message}); look at the disk of the backups, and at the ` +
        'owner and mode of this file',
      { cause },
    );
  }
}

export function unfinishedPath(folder: string, store: string): string {
  return join(folder, `.${store}.unfinished`);
}

/**
 * A manifest is written under another name first, then gets its name just before its backup, and is
 * removed just after its backup. The process may be one that has not claimed the folder.
 */
function removeLeftovers(folder: string, store: string): void {
  rmSync(unfinishedPath(folder, store), { recursive: true, force: true });
  const oldMs = Date.now() - limits.backup.leftoverMs;
  for (const file of readdirSync(folder)) {
    const [backup = '', rest] = file.split(manifestEnding);
    const name = parseBackupName(backup);
    if (rest === undefined || name?.store !== store || name.at.valueOf() > oldMs) continue;
    if (rest !== '' || !existsSync(join(folder, backup))) rmSync(join(folder, file));
  }
}

/** A name has whole seconds, and a clock that was set back comes to names again. */
export async function nextName(folder: string, store: string): Promise<{ at: Date; file: string }> {
  for (;;) {
    const at = new Date();
    const file = join(folder, formatBackupName({ store, at }));
    if (![file, manifestPath(file)].some(existsSync)) return { at, file };
    await pause(1_000 - at.getMilliseconds());
  }
}

export async function thinBackups(
  folder: string,
  store: string,
  rules: Retention,
): Promise<number> {
  const unneeded = unkept(await listSeries(folder, store), rules);
  for (const { file } of unneeded) {
    removeFileDurably(join(folder, file));
    removeFileDurably(manifestPath(join(folder, file)));
  }
  return unneeded.length;
}

/**
 * The backup that a command names: a file, or the newest backup in a folder, of the store if the
 * folder has backups of several stores. Says if an older one has more plants, as after a restore.
 *
 * @throws CommandError if the folder has none
 */
export async function resolveBackup(
  path: string,
  location: StoreLocation,
  terminal: Terminal,
): Promise<string> {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path;
  const stores = [...new Set(backupsIn(readdirSync(path)).map(({ store }) => store))];
  const name = engineOf(location).backupName;
  const [store, ...others] = stores.includes(name) ? [name] : stores;
  if (others.length > 0)
    throw new CommandError(
      `the folder ${path} has backups of several stores (${stores.join(', ')}), and none ` +
        `of a store with the name ${name}; name a file`,
    );
  const series = store === undefined ? [] : await listSeries(path, store);
  const newest = series.at(-1);
  if (newest === undefined)
    throw new CommandError(
      `there is no backup with its manifest in the folder ${path}; name a file, or another folder`,
    );
  // It may be newer, and the command says that it is damaged.
  const damaged = series.findLast(({ at, manifest }) => !manifest && at > newest.at);
  if (damaged !== undefined) return join(path, damaged.file);
  const plantsIn = ({ manifest }: BackupInSeries) => manifest?.plants ?? 0;
  const fuller = series.findLast((backup) => plantsIn(backup) > plantsIn(newest));
  if (fuller !== undefined)
    terminal.note(
      `${fuller.file} was made before ${newest.file}, and has more plants: ` +
        `${plantsIn(fuller)} instead of ${plantsIn(newest)}.`,
      'warning',
    );
  return join(path, newest.file);
}
