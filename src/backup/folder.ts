import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { CommandError, type Terminal } from '../cli/command.ts';
import type { Retention } from '../cli/flags/values.ts';
import { removeFileDurably } from '../disk/files.ts';
import { limits } from '../limits.ts';
import { plantsText } from '../quantity-text.ts';
import { engineOf, tryLockFile } from '../store/engines.ts';
import { fileLocation, manifestEnding, type StoreLocation } from '../store/location.ts';
import { compareInFolder, faultOf, holdsAll } from './check.ts';
import {
  backupsOf,
  compareWithSeries,
  fullest,
  type Holding,
  holdingsIn,
  removable,
  storesIn,
} from './lineage.ts';
import { holdingKey, manifestPath } from './manifest.ts';
import { originOfPlants, placeOf } from './origin.ts';
import { type BackupInSeries, formatBackupName, listBackups, parseBackupName } from './series.ts';

/**
 * Keeps other processes from the backups of the store in the folder until disposal, and removes
 * what a killed process has left. Waits for another process.
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
 * removed just after its backup. A young one may belong to a process that is at work, and that has
 * not claimed the folder, as `backup FILE` does not.
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

/** A name has whole seconds. A clock that was set back comes to names that are taken. */
export async function nextName(folder: string, store: string): Promise<{ at: Date; file: string }> {
  for (;;) {
    const at = new Date();
    const file = join(folder, formatBackupName({ store, at }));
    if (![file, manifestPath(file)].some(existsSync)) return { at, file };
    await pause(1_000 - at.getMilliseconds());
  }
}

/**
 * Removes backups that no rule keeps. Each is held by a newer one that stays, and is sound: so the
 * plants of a lost store stay, however many backups of the next one come.
 *
 * @param series of the store, oldest first
 * @returns `kept` has a sentence for each backup that would have been removed
 */
export async function thinBackups(
  folder: string,
  series: readonly BackupInSeries[],
  rules: Retention,
  terminal: Terminal,
): Promise<{ removed: number; kept: string[] }> {
  // The newest was made and checked a moment ago.
  const faults = new Map<BackupInSeries | undefined, string | undefined>([
    [series.at(-1), undefined],
  ]);
  const kept: string[] = [];
  let removed = 0;
  for (const { backup, heldBy } of removable(series, rules)) {
    const path = join(folder, heldBy.file);
    if (!faults.has(heldBy)) faults.set(heldBy, await faultOf(path, terminal));
    const fault = faults.get(heldBy);
    if (fault !== undefined) kept.push(`${backup.file} stays, because ${fault}.`);
    else {
      removeFileDurably(join(folder, backup.file));
      removeFileDurably(manifestPath(join(folder, backup.file)));
      removed += 1;
    }
  }
  return { removed, kept };
}

/**
 * The backup that a command names: a file, or the newest backup of a store in a folder, which must
 * hold all earlier ones of the store. Otherwise the plants that only an earlier one has would be
 * lost without a word.
 *
 * @param location tells the store, if the folder has backups of several
 * @throws CommandError if the folder has no such backup. The candidates are listed before.
 */
export async function resolveBackup(
  path: string,
  location: StoreLocation,
  terminal: Terminal,
): Promise<string> {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path;
  const all = await listBackups(path);
  const series = await seriesIn(path, all, location, terminal);
  const newest = series.findLast(({ manifest }) => manifest !== undefined);
  // A damaged one may be newer, and the command says that it is damaged.
  const damaged = series.findLast(({ at, manifest }) => !manifest && !(newest && at <= newest.at));
  const chosen = damaged ?? newest;
  if (chosen === undefined)
    throw new CommandError(
      `there is no backup with its manifest in the folder ${path}; name a file, or another folder`,
    );
  const { place } = placeOf(location);
  const ofPlace = series.findLast(({ manifest }) => manifest?.place === place);
  if (ofPlace && chosen.manifest && chosen.manifest.place !== place) {
    listCandidates([ofPlace, chosen], terminal);
    throw new CommandError(
      `the newest backup in ${path} is of a copy of the store in another place; ${nameOne}`,
    );
  }
  const lacks = await lackedBy(path, chosen, series, terminal);
  if (lacks.length === 0) return join(path, chosen.file);
  listCandidates([...fullest(series.filter(({ file }) => lacks.includes(file))), chosen], terminal);
  throw new CommandError(`the newest backup in ${path} lacks plants of earlier ones; ${nameOne}`);
}

const nameOne = 'name the file of one of the backups that are listed above';

/** @throws CommandError if the folder has backups of several stores, and none of `location` */
async function seriesIn(
  path: string,
  all: readonly BackupInSeries[],
  location: StoreLocation,
  terminal: Terminal,
): Promise<BackupInSeries[]> {
  const stores = storesIn(all);
  const [only = [], ...others] = stores;
  if (others.length === 0) return only;
  const origin = await originOfPlants(location);
  const own = origin === undefined ? [] : backupsOf(origin, all);
  if (own.length > 0) return own;
  listCandidates(stores.flatMap(fullest), terminal);
  throw new CommandError(
    `the folder ${path} has backups of ${stores.length} stores, and ${engineOf(location).name} ` +
      `holds no plants of any; ${nameOne}`,
  );
}

/** @returns the names of earlier backups with plants that it lacks, and that are not given up */
async function lackedBy(
  folder: string,
  chosen: BackupInSeries,
  series: readonly BackupInSeries[],
  terminal: Terminal,
): Promise<string[]> {
  const { manifest } = chosen;
  if (manifest === undefined) return [];
  const earlier = series.filter((backup) => backup !== chosen);
  const held = holdingsIn(series).heldBy(holdingKey(manifest));
  const known = { held, lacks: manifest.lacks ?? [] };
  const copy = fileLocation(join(folder, chosen.file));
  const compare = async (backup: BackupInSeries): Promise<Holding> => {
    const found = await compareInFolder(folder, backup, copy, terminal);
    if (!(found instanceof Error)) return holdsAll(found) ? 'held' : 'lacking';
    const says = `${backup.file} cannot be read, and was not compared (${found.message}).`;
    terminal.note(says, 'warning');
    return 'damaged';
  };
  const { lacks } = await compareWithSeries(manifest, earlier, compare, known);
  // Another store in the same place, such as that of a machine with the same name, decides nothing.
  const isOfOther = ({ manifest: other }: BackupInSeries) =>
    other?.identity !== undefined && other.identity !== manifest.identity;
  const others = earlier.filter(isOfOther).map(({ file }) => file);
  return lacks.filter((file) => others.includes(file) || !manifest.givenUp?.includes(file));
}

function listCandidates(candidates: readonly BackupInSeries[], { note }: Terminal): void {
  for (const { file, at, manifest } of candidates) {
    const { createdAt = at.toISOString(), plants, place, identity } = manifest ?? {};
    const says = plants === undefined ? 'a damaged manifest' : plantsText(plants);
    const store = `${place ?? 'an unknown place'}, identity ${identity ?? 'unknown'}`;
    note(`${file}  ${createdAt}  ${says}, of the store at ${store}`);
  }
}
