import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ageText } from '../../age-text.ts';
import type { Retention } from '../../config/values.ts';
import { compactTime } from '../../disk/compact-time.ts';
import { limits } from '../../limits.ts';
import { StoreError } from '../../store/errors.ts';
import type { StoreLocation } from '../../store/location.ts';
import { engineOf } from '../../stores.ts';
import { CommandError, type Terminal } from '../command.ts';
import { findDamage } from './against.ts';
import { claimFolder, thinBackups, unfinishedPath } from './backup-folder.ts';
import { formatBackupName } from './backup-name.ts';
import { type Base, makeBackup, recordBackup, refuseTakenName } from './make-backup.ts';
import { type Manifest, readManifest } from './manifest.ts';
import { type ListedBackup, listBackups } from './parts.ts';
import { nextInSeries } from './series-time.ts';

/** A backup, and how many older ones were removed after it was made. */
interface NewBackup extends Manifest {
  readonly file: string;
  readonly removed: number;
  /** Why none was removed, as a sentence. */
  readonly warning?: string;
}

/**
 * Adds a backup to the folder, and then removes the backups that no rule keeps. The backup holds
 * only what the last full backup in the folder lacks, if that is little.
 *
 * A full backup would take damage of the store over, and no later comparison would find the damage.
 * So the store is compared with its last backup first. If the store is damaged, the backup holds
 * only what is new, and the call fails after it.
 *
 * @throws CommandError, StoreOpenError, StoreError. Then no backup has been removed.
 */
export async function backUpIntoFolder(
  folder: string,
  rules: Retention,
  location: StoreLocation,
  terminal: Terminal,
): Promise<NewBackup> {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new CommandError(
      `there is no folder ${folder}, in which the backups are kept; make the folder`,
    );
  const store = engineOf(location).backupName;
  const remedy = 'look at the disk of the backups, and at the owner and mode of this file';
  using _ = await claimFolder(folder, store, remedy, terminal);
  const before = listBackups(folder).filter((backup) => backup.store === store);
  const at = await freeSecond(before);
  const { isFar } = nextInSeries(before, at.valueOf());
  const base = await findBase(folder, location, at, terminal);
  const file = join(folder, formatBackupName({ store, at, since: base?.at }));
  refuseTakenName(file, location);
  const unfinished = unfinishedPath(folder, store);
  const manifest = await makeBackup(location, file, at, terminal, { base, unfinished });
  await recordBackup(location, file, manifest, terminal);
  if (base?.damage !== undefined) throw base.damage;
  if (isFar) {
    const step = ageText(at.valueOf() - (before.at(-1)?.clockMs ?? 0));
    const warning = `No older backup was removed: by the clock, which may be wrong, this backup comes ${step} after the one before.`;
    return { file, ...manifest, removed: 0, warning };
  }
  return { file, ...manifest, removed: thinBackups(folder, store, rules).length };
}

/** The name of a backup has no part of a second, and a clock that was set back comes to names again. */
async function freeSecond(backups: readonly ListedBackup[]): Promise<Date> {
  const taken = new Set(backups.map(({ at }) => compactTime(at)));
  for (;;) {
    const now = new Date();
    if (!taken.has(compactTime(now))) return now;
    await pause(1_000 - now.getMilliseconds());
  }
}

interface NamedBase extends Base {
  readonly at: Date;
  /** Why the next backup is not a full one, although one is due. */
  readonly damage: CommandError | undefined;
}

/** @returns undefined if the next backup is to be a full one */
async function findBase(
  folder: string,
  location: StoreLocation,
  now: Date,
  terminal: Terminal,
): Promise<NamedBase | undefined> {
  const { backupName, increments } = engineOf(location);
  const backups = listBackups(folder).filter(({ store }) => store === backupName);
  const newest = backups.findLast(({ since }) => since === undefined);
  if (newest === undefined || increments === undefined) return undefined;
  const { at, path } = newest;
  try {
    const manifest = readManifest(path);
    if (manifest === undefined) return undefined;
    const added = await increments.count(path, Date.parse(manifest.createdAt));
    // The store does not continue this backup, for instance after a restore of an older one.
    if (added === undefined) return undefined;
    const isDue =
      now.valueOf() - at.valueOf() > limits.backup.fullEveryMs ||
      added * limits.backup.incrementShare > manifest.plants;
    if (!isDue) return { at, path, manifest, damage: undefined };
    const damage = await findDamage(backups.at(-1)?.path ?? path, location, terminal);
    return damage && { at, path, manifest, damage };
  } catch (error) {
    if (!(error instanceof CommandError || error instanceof StoreError)) throw error;
    terminal.note(
      `The full backup ${path} cannot be used (${error.message}); making another.`,
      'warning',
    );
    return undefined;
  }
}
