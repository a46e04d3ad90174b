import { existsSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ageText } from '../../age-text.ts';
import { type Manifest, manifestPath, manifestText } from '../../backup/manifest.ts';
import { formatBackupName, parseBackupName } from '../../backup/name.ts';
import { nextInSeries } from '../../backup/series.ts';
import type { Retention } from '../../config/values.ts';
import { createFileDurably, linkDurably } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import { StoreError, StoreOpenError } from '../../store/errors.ts';
import { fileLocation, type StoreLocation } from '../../store/location.ts';
import { commandFor, engineOf, openExistingStore, sqliteEngine } from '../../stores.ts';
import { version } from '../../version.ts';
import { CommandError, type Terminal } from '../command.ts';
import { differencesOf, makeStoreCopy } from '../transfer/store-copy.ts';
import { refuseStoreFile } from '../transfer/store-files.ts';
import { compareWithBackup, differenceText, inspectBackup } from './check.ts';
import { claimFolder, freeSecond, listSeries, thinBackups, unfinishedPath } from './folder.ts';
import { withUnfinishedFolder } from './unfinished-folder.ts';

/** A backup in a folder, and what followed. */
interface NewBackup extends Manifest {
  readonly file: string;
  /** Number of older backups that were removed after this backup was made. */
  readonly removed: number;
  /** Why none was removed, as a sentence. */
  readonly warning?: string;
}

/**
 * Adds a backup to the folder, and then removes the backups that no rule keeps.
 *
 * A backup would take damage of the store over, and no later comparison would find the damage. So
 * the store is compared with the backup before first.
 *
 * @throws CommandError also for a damaged store; StoreOpenError, StoreError. Then the folder has the
 * backups that it had.
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
  using _ = await claimFolder(folder, store, terminal);
  const before = listSeries(folder, store);
  const last = before.findLast(({ manifest }) => manifest !== undefined);
  const lacking = last && (await lackingSince(join(folder, last.file), location, terminal));
  const at = await freeSecond(before);
  const file = join(folder, formatBackupName({ store, at }));
  const manifest = await makeBackup(location, file, at, terminal, unfinishedPath(folder, store));
  await recordBackup(location, file, manifest, terminal);
  const { isFar } = nextInSeries(before, at.valueOf());
  const step = ageText(at.valueOf() - (before.at(-1)?.clockMs ?? 0));
  const warning = isFar
    ? `No older backup was removed: by the clock, which may be wrong, this backup comes ${step} after the one before.`
    : lacking && `No older backup was removed: ${lacking}.`;
  if (warning !== undefined) return { file, ...manifest, removed: 0, warning };
  return { file, ...manifest, removed: thinBackups(folder, store, rules) };
}

/**
 * Compares the store with the backup before.
 *
 * @returns what the store lacks: an older backup was restored, or plants are lost
 * @throws CommandError for a plant that has changed
 */
async function lackingSince(
  backup: string,
  location: StoreLocation,
  terminal: Terminal,
): Promise<string | undefined> {
  const found = await compareWithBackup(backup, location, terminal);
  if (found.taken.count > 0)
    throw new CommandError(
      `${differenceText(found, backup, location)}; no backup was made, and the earlier ones are as they were`,
    );
  return found.lacking.count === 0 ? undefined : differenceText(found, backup, location);
}

/** @throws CommandError */
export function refuseTakenName(path: string, store: StoreLocation): void {
  for (const name of [path, manifestPath(path)]) {
    if (existsSync(name)) throw nameTaken(name);
    refuseStoreFile(name, [store]);
  }
}

/**
 * Copies the store to `path`, checks the copy, and writes its manifest, durably.
 *
 * @param unfinished where the backup is made until it gets its name; by default a new folder beside `path`
 * @throws CommandError, StoreOpenError, StoreError. Then `path` does not exist.
 */
export function makeBackup(
  location: StoreLocation,
  path: string,
  startedAt: Date,
  terminal: Terminal,
  unfinished?: string,
): Promise<Manifest> {
  const left = 'no backup has been made, and earlier ones are as they were; make it again';
  return withUnfinishedFolder(
    { path, folder: unfinished, work: 'the backup', left },
    terminal,
    async (folder) => {
      const copy = join(folder, basename(path));
      await copyToFile(location, copy, terminal);
      const figures = await inspectBackup(copy, terminal);
      if ('fault' in figures)
        throw new CommandError(
          `the copy ${figures.fault}; check the store with ${commandFor(location, 'verify')}`,
        );
      const times = { createdAt: startedAt.toISOString(), checkedAt: new Date().toISOString() };
      const manifest = { ...times, ...seriesTimeOf(path, startedAt), version, ...figures };
      publish(copy, path, manifest);
      return manifest;
    },
  );
}

/** Nothing for a file without the name of a series. */
function seriesTimeOf(path: string, startedAt: Date): Pick<Manifest, 'seriesAt'> {
  const name = parseBackupName(basename(path));
  if (name === undefined) return {};
  const series = listSeries(dirname(path), name.store);
  const { seriesMs } = nextInSeries(series, startedAt.valueOf());
  return { seriesAt: new Date(seriesMs).toISOString() };
}

/** Makes one file without a WAL, and compares it with the store. */
async function copyToFile(
  location: StoreLocation,
  path: string,
  terminal: Terminal,
): Promise<void> {
  const { backUp } = engineOf(location);
  if (backUp !== undefined) {
    await backUp(path, terminal.showProgress);
    const found = await compareWithBackup(path, location, terminal);
    if (found.taken.count + found.lacking.count === 0) return;
    throw new CommandError(
      `the copy differs from the store: ${differenceText(found, path, location)}`,
    );
  }
  const file = fileLocation(path);
  const choices = { acceptsLostCommits: false, isTemporary: true };
  const copied = await makeStoreCopy(location, file, choices, terminal).catch((error) => {
    throw error instanceof StoreError
      ? new CommandError(`cannot copy the store (${error.message})`, { cause: error })
      : error;
  });
  const wrong = differencesOf(copied);
  if (wrong !== undefined) throw new CommandError(wrong);
  await sqliteEngine(file).seal();
}

/** Records the backup in the store. The backup is good without the record. */
export async function recordBackup(
  location: StoreLocation,
  file: string,
  { plants, digest }: Manifest,
  terminal: Terminal,
): Promise<void> {
  try {
    await using store = await openExistingStore(location, limits.cli.lockMs);
    await store.recordBackup({ file, finishedAtMs: Date.now(), plants, digest });
  } catch (error) {
    if (!(error instanceof StoreOpenError || error instanceof StoreError)) throw error;
    terminal.note(`The backup could not be recorded in the store: ${error.message}`);
  }
}

/** Names the manifest first, so that no backup lacks one. Synchronous, so that no signal divides it. */
function publish(copy: string, path: string, manifest: Manifest): void {
  if (!createFileDurably(manifestPath(path), manifestText(manifest), 0o600))
    throw nameTaken(manifestPath(path));
  let isNamed = false;
  try {
    isNamed = linkDurably(copy, path);
  } finally {
    if (!isNamed) rmSync(manifestPath(path));
  }
  if (!isNamed) throw nameTaken(path);
}

function nameTaken(path: string): CommandError {
  return new CommandError(
    `${path} exists already, and a backup overwrites no file; choose another name`,
  );
}
