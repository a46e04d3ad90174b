import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Retention } from '../../config/values.ts';
import { removeFileDurably } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import { tryLockFile } from '../../stores.ts';
import { CommandError, type Terminal } from '../command.ts';
import { parseBackupName } from './backup-name.ts';
import { manifestEnding, manifestPath } from './manifest.ts';
import { listBackups, partsOf } from './parts.ts';
import { keptBackups } from './retention.ts';

/**
 * Keeps other processes from making and thinning backups of the store in the folder, until
 * disposal, and removes what a killed process has left there. Waits for another process.
 *
 * @param store first part of the names of the backups
 * @param remedy what to do about a folder that cannot be written
 * @throws CommandError, also if the other process does not end in time
 */
export async function claimFolder(
  folder: string,
  store: string,
  remedy: string,
  terminal: Terminal,
): Promise<Disposable> {
  const path = join(folder, `.${store}.lock`);
  const deadlineMs = performance.now() + limits.backup.folderWaitMs;
  for (;;) {
    const lock = tryLock(path, remedy);
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

function tryLock(path: string, remedy: string): Disposable | undefined {
  try {
    return tryLockFile(path);
  } catch (cause) {
    const { message } = cause as Error;
    throw new CommandError(`cannot write ${path} (${message}); ${remedy}`, { cause });
  }
}

/** Where a process that has claimed the folder makes a backup. */
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

/**
 * Removes the backups that no rule keeps. A full backup stays as long as one of its increments. Ages
 * are those before the newest backup, and not before the time of the clock.
 *
 * @returns the removed backups
 */
export function thinBackups(folder: string, store: string, rules: Retention): string[] {
  const backups = listBackups(folder).filter((backup) => backup.store === store);
  const times = backups.map(({ seriesMs }) => seriesMs);
  const kept = keptBackups(times, rules, times.at(-1) ?? 0);
  const needed = new Set(
    backups.filter(({ seriesMs }) => kept.has(seriesMs)).flatMap(({ path }) => partsOf(path)),
  );
  const unneeded = backups.map(({ path }) => path).filter((path) => !needed.has(path));
  // Increments first: none is ever without its base.
  const inOrder = unneeded.toSorted((one, other) => partsOf(other).length - partsOf(one).length);
  for (const path of inOrder) {
    removeFileDurably(path);
    removeFileDurably(manifestPath(path));
  }
  return inOrder;
}
