import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Retention } from '../cli/flags/values.ts';
import { compactTime } from '../disk/files.ts';
import { limits } from '../limits.ts';
import { type Manifest, manifestPath, readManifest } from './manifest.ts';

/** The name of a backup in a folder: `plants-20261122T001500Z.db`. */
interface BackupName {
  /** The first part of the name. */
  readonly store: string;
  readonly at: Date;
}

export function formatBackupName({ store, at }: BackupName): string {
  return `${store}-${compactTime(at)}.db`;
}

/** @returns undefined for any other name, and for a time such as the 32nd of May */
export function parseBackupName(file: string): BackupName | undefined {
  const [, store = '', ...parts] =
    /^(.+?)-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.db$/.exec(file) ?? [];
  const [year, month, day, hour, minute, second] = parts;
  const at = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  const name = { store, at };
  return !Number.isNaN(at.valueOf()) && formatBackupName(name) === file ? name : undefined;
}

/* The order and ages of backups follow times that only grow, and no single reading of the clock. */

/** When a backup was made, in milliseconds since the epoch. */
interface MadeAt {
  /** By the clock, which may have been wrong. */
  readonly clockMs: number;
  /** In its series; see `nextInSeries`. */
  readonly seriesMs: number;
}

type NamedBackup = BackupName & { readonly file: string };

export interface BackupInSeries extends NamedBackup, MadeAt {
  /** Undefined if it is damaged. */
  readonly manifest: Manifest | undefined;
}

/** The backups with a manifest, by the names in a folder. */
function backupsIn(files: readonly string[]): NamedBackup[] {
  const all = new Set(files);
  return files.flatMap((file) => {
    const name = parseBackupName(file);
    return name !== undefined && all.has(manifestPath(file)) ? [{ ...name, file }] : [];
  });
}

/**
 * All backups in a folder, oldest first. Those with a damaged manifest come before all.
 *
 * @throws errors of the file system
 */
export async function listBackups(folder: string): Promise<BackupInSeries[]> {
  const series: BackupInSeries[] = [];
  for (const name of backupsIn(await readdir(folder))) {
    const read = await readManifest(join(folder, name.file));
    // Without a manifest, the backup was removed meanwhile.
    if (read === undefined) continue;
    const manifest = read === 'damaged' ? undefined : read;
    const { createdAt = name.at.toISOString(), seriesAt = createdAt } = manifest ?? {};
    const times = { clockMs: Date.parse(createdAt), seriesMs: Date.parse(seriesAt) };
    series.push({ ...name, manifest, ...times });
  }
  const isSound = ({ manifest }: BackupInSeries) => Number(manifest !== undefined);
  return series.sort(
    (one, other) => isSound(one) - isSound(other) || one.seriesMs - other.seriesMs,
  );
}

/**
 * Gives the next backup of a series its time. A step of the clock back, or far ahead, counts as a
 * usual step. A step is far if it is more than twice as long as usual: a machine that was off looks
 * the same, and then backups are kept for longer.
 *
 * @param series oldest first
 */
export function nextInSeries(
  series: readonly MadeAt[],
  clockMs: number,
): MadeAt & { readonly isFar: boolean } {
  const last = series.at(-1);
  if (last === undefined) return { clockMs, seriesMs: clockMs, isFar: false };
  const stepMs = clockMs - last.clockMs;
  const usualMs = usualStepMs(series);
  const isFar = stepMs > Math.max(limits.backup.usualStepMs, 2 * usualMs);
  const countedMs = isFar || stepMs <= 0 ? usualMs : stepMs;
  return { clockMs, seriesMs: last.seriesMs + countedMs, isFar };
}

/** Of the last three: one wrong reading makes two of them wrong, one far and one back. */
function usualStepMs(series: readonly MadeAt[]): number {
  const recent = series.slice(-4).map(({ clockMs }) => clockMs);
  const steps = recent.slice(1).map((clockMs, index) => clockMs - Number(recent[index]));
  const median = steps.toSorted((one, other) => one - other)[Math.floor((steps.length - 1) / 2)];
  return median !== undefined && median > 0 ? median : limits.backup.usualStepMs;
}

/**
 * Chooses the backups to remove. A rule divides its time span before `newestMs` into periods, which
 * begin at whole multiples of its interval in UTC, and keeps the newest backup of each period. The
 * newest backup of all is kept, too.
 */
export function unkept<Backup extends MadeAt>(
  series: readonly Backup[],
  rules: Retention,
  newestMs = series.at(-1)?.seriesMs ?? 0,
): Backup[] {
  const newest = series.at(-1);
  const kept = new Set([newest]);
  for (const { withinMs, everyMs } of rules) {
    const recent = series.filter(({ seriesMs }) => newestMs - seriesMs <= withinMs);
    const newestOfPeriods = new Map(
      recent.map((backup) => [Math.floor(backup.seriesMs / everyMs), backup]),
    );
    for (const backup of newestOfPeriods.values()) kept.add(backup);
  }
  return series.filter((backup) => !kept.has(backup));
}
