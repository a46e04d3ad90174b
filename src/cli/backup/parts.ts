import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { StoreLocation } from '../../store/location.ts';
import { engineOf } from '../../stores.ts';
import { CommandError, type Terminal } from '../command.ts';
import { type BackupName, formatBackupName, parseBackupName } from './backup-name.ts';
import { type Manifest, manifestPath, readManifestIfSound } from './manifest.ts';
import { type MadeAt, nextInSeries } from './series-time.ts';

interface FoundBackup extends BackupName {
  readonly path: string;
  /** Undefined if it is damaged. */
  readonly manifest: Manifest | undefined;
}

/** A backup in a folder that has all its files. */
export interface ListedBackup extends FoundBackup, MadeAt {}

/**
 * The backups in a folder, by store: each with its manifest, and an increment with its base. The
 * newest of a store is its last one, whatever the clock was when it was made; one with a damaged
 * manifest comes first.
 */
export function listBackups(folder: string): ListedBackup[] {
  const found = readdirSync(folder).flatMap((file): FoundBackup[] => {
    const name = parseBackupName(file);
    const path = join(folder, file);
    if (name === undefined || !hasAllFiles(path)) return [];
    return [{ ...name, path, manifest: readManifestIfSound(path) }];
  });
  return [...Map.groupBy(found, ({ store }) => store).values()].flatMap(inSeries);
}

function inSeries(backups: readonly FoundBackup[]): ListedBackup[] {
  const series: ListedBackup[] = [];
  for (const backup of backups.toSorted(byAge)) {
    const { createdAt = backup.at.toISOString(), seriesAt } = backup.manifest ?? {};
    const sound = series.filter(({ manifest }) => manifest !== undefined);
    const madeAt = nextInSeries(sound, Date.parse(createdAt));
    const seriesMs = seriesAt === undefined ? madeAt.seriesMs : Date.parse(seriesAt);
    series.push({ ...backup, clockMs: madeAt.clockMs, seriesMs });
  }
  return series;
}

function hasAllFiles(path: string): boolean {
  return partsOf(path).every((part) => existsSync(part) && existsSync(manifestPath(part)));
}

type Aged = Pick<FoundBackup, 'at' | 'manifest'>;

/**
 * Compares backups, the newer one being greater. The times of the series only grow; backups of
 * earlier versions have none, and the one with more plants is newer, because no plant is ever removed.
 */
export function byAge(one: Aged, other: Aged): number {
  const difference = (of: (backup: Aged) => number) => of(one) - of(other);
  return (
    difference(({ manifest }) => (manifest?.seriesAt ? Date.parse(manifest.seriesAt) : 0)) ||
    difference(plantsIn) ||
    difference(({ at }) => at.valueOf())
  );
}

function plantsIn({ manifest }: Aged): number {
  return manifest?.allPlants ?? manifest?.plants ?? -1;
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
 * folder has backups of several stores. Says so if an older one has more plants, as after a restore.
 *
 * @throws CommandError if the folder has none
 */
export function resolveBackup(path: string, location: StoreLocation, terminal: Terminal): string {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path;
  const backups = listBackups(path);
  const name = engineOf(location).backupName;
  const named = backups.filter(({ store }) => store === name);
  const stores = [...new Set(backups.map(({ store }) => store))];
  if (named.length === 0 && stores.length > 1)
    throw new CommandError(
      `the folder ${path} has backups of several stores (${stores.join(', ')}), and none of a store with the name ${name}; name a file`,
    );
  const ofStore = named.length === 0 ? backups : named;
  const newest = ofStore.at(-1);
  // It may be newer, and whoever takes it is told of the damage.
  const damaged = ofStore.find(({ at, manifest }) => !manifest && at > (newest?.at ?? at));
  if (newest !== undefined) {
    noteFuller(ofStore, newest, terminal);
    return (damaged ?? newest).path;
  }
  throw new CommandError(
    `there is no backup with its manifest in the folder ${path}; name a file, or another folder`,
  );
}

function noteFuller(
  backups: readonly ListedBackup[],
  newest: ListedBackup,
  terminal: Terminal,
): void {
  const fuller = backups.findLast((backup) => plantsIn(backup) > plantsIn(newest));
  if (fuller === undefined) return;
  terminal.note(
    `${fuller.path} was made before ${newest.path}, and has more plants: ${plantsIn(fuller)} instead of ${plantsIn(newest)}.`,
    'warning',
  );
}
