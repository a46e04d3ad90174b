import { existsSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type Manifest, manifestPath, manifestText } from '../../backup/manifest.ts';
import {
  type BackupInSeries,
  formatBackupName,
  listSeries,
  nextInSeries,
  parseBackupName,
} from '../../backup/series.ts';
import type { Retention } from '../../config/values.ts';
import { createFileDurably, linkDurably } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import { version } from '../../program.ts';
import { ageText } from '../../quantity-text.ts';
import { StoreError, StoreOpenError } from '../../store/errors.ts';
import type { PlantFigures } from '../../store/inspection.ts';
import { fileLocation, type StoreLocation } from '../../store/location.ts';
import { commandFor, engineOf, openExistingStore, sqliteEngine } from '../../stores.ts';
import { CommandError, type Terminal } from '../command.ts';
import { demandSame, makeStoreCopy } from '../transfer/store-copy.ts';
import { refuseStoreFile } from '../transfer/store-files.ts';
import {
  compareWithBackup,
  demandSound,
  differenceText,
  holdsAll,
  inspectBackup,
} from './check.ts';
import { claimFolder, nextName, thinBackups, unfinishedPath } from './folder.ts';
import { withUnfinishedFolder } from './unfinished-folder.ts';

/** A backup as the command prints it. */
interface MadeBackup extends Manifest {
  readonly file: string;
  /** Older backups that were removed from the folder. */
  readonly removed?: number;
  readonly warning?: string;
}

/** Makes a backup in the file, or in the folder under a new name. @throws as `makeBackup` */
export async function backUpTo(
  destination: string,
  location: StoreLocation,
  terminal: Terminal,
): Promise<MadeBackup> {
  const at = new Date();
  const isFolder = statSync(destination, { throwIfNoEntry: false })?.isDirectory();
  const store = engineOf(location).backupName;
  const file = isFolder ? join(destination, formatBackupName({ store, at })) : destination;
  for (const name of [file, manifestPath(file)]) {
    if (existsSync(name)) throw nameTaken(name);
    refuseStoreFile(name, location);
  }
  const manifest = await makeBackup(location, file, at, terminal);
  await recordBackup(location, file, manifest, terminal);
  return { file, ...manifest };
}

/**
 * Adds a backup to the folder, and then removes the backups that no rule keeps.
 *
 * A backup would take damage of the store over, and no later comparison would find the damage. So
 * the backup before is compared with the copy first.
 *
 * @throws CommandError also for a damaged store; StoreOpenError, StoreError. Then the backups in
 * the folder are as they were.
 */
export async function backUpIntoFolder(
  folder: string,
  rules: Retention,
  location: StoreLocation,
  terminal: Terminal,
): Promise<MadeBackup> {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new CommandError(
      `there is no folder ${folder}, in which the backups are kept; make the folder`,
    );
  const store = engineOf(location).backupName;
  using _ = await claimFolder(folder, store, terminal);
  const before = await listSeries(folder, store);
  const { at, file } = await nextName(folder, store);
  const { isFar, clockMs } = nextInSeries(before, at.valueOf());
  const doubts: string[] = [];
  if (isFar)
    doubts.push(
      'by the clock, which may be wrong, this backup comes ' +
        `${ageText(clockMs - (before.at(-1)?.clockMs ?? 0))} after the one before`,
    );
  const manifest = await makeBackup(location, file, at, terminal, {
    unfinished: unfinishedPath(folder, store),
    async compare(copy) {
      doubts.push(...(await compareWithSeries(copy, folder, before, location, terminal)));
    },
  });
  await recordBackup(location, file, manifest, terminal);
  const made = { file, ...manifest };
  if (doubts.length > 0)
    return { ...made, removed: 0, warning: `No older backup was removed: ${doubts.join('; ')}.` };
  return { ...made, removed: await thinBackups(folder, store, rules) };
}

/**
 * Compares a copy of the store with the newest sound backup before.
 *
 * @returns what the copy lacks, because an older backup was restored or plants are lost, and which
 * backups are damaged
 * @throws CommandError for a plant that has changed
 */
async function compareWithSeries(
  copy: string,
  folder: string,
  before: readonly BackupInSeries[],
  location: StoreLocation,
  terminal: Terminal,
): Promise<string[]> {
  const doubts: string[] = [];
  for (const { file, manifest } of before.toReversed()) {
    if (manifest === undefined) continue;
    const backup = join(folder, file);
    const found = await compareWithBackup(
      backup,
      manifest.plants,
      fileLocation(copy),
      terminal,
    ).catch((error: Error) => error);
    if (!(found instanceof Error) && holdsAll(found)) return doubts;
    const fault = await demandSound(backup, backup, terminal).then(
      () => undefined,
      ({ message }: Error) => message,
    );
    if (fault !== undefined) {
      doubts.push(fault);
      continue;
    }
    if (found instanceof Error) throw found;
    const difference = differenceText(found, backup, location);
    if (found.taken.count === 0) return [...doubts, difference];
    throw new CommandError(
      `${difference}; no backup was made, and the earlier ones are as they were`,
    );
  }
  return doubts;
}

/**
 * Copies the store to `path`, checks the copy, and writes its manifest, durably.
 *
 * @param unfinished where the backup is made; by default a new folder beside `path`
 * @param compare a further check of the copy, which throws CommandError
 * @throws CommandError, StoreOpenError, StoreError. Then `path` does not exist.
 */
export function makeBackup(
  location: StoreLocation,
  path: string,
  startedAt: Date,
  terminal: Terminal,
  { unfinished, compare }: { unfinished?: string; compare?: (copy: string) => Promise<void> } = {},
): Promise<Manifest> {
  const { backUp } = engineOf(location);
  const left = 'no backup has been made, and earlier ones are as they were; make it again';
  return withUnfinishedFolder(
    { path, folder: unfinished, work: 'the backup', left },
    terminal,
    async (folder) => {
      const copy = join(folder, basename(path));
      const source = backUp
        ? await backUp(copy, terminal.showProgress)
        : await copyDatabase(location, copy, terminal);
      const figures = await inspectBackup(copy, terminal);
      if ('fault' in figures)
        throw new CommandError(
          `the copy ${figures.fault}; check the store with ${commandFor(location, 'verify')}`,
        );
      // Plants that came to the store after the copy are no difference.
      const found = backUp && (await compareWithBackup(copy, figures.plants, location, terminal));
      if (found && !holdsAll(found))
        throw new CommandError(
          `the copy differs from the store: ${differenceText(found, copy, location)}`,
        );
      if (source && source.digest !== figures.digest)
        throw new CommandError('the copy differs from what was read of the store; repeat it');
      await compare?.(copy);
      const times = { createdAt: startedAt.toISOString(), checkedAt: new Date().toISOString() };
      const series = await seriesTimeOf(path, startedAt);
      const manifest = { ...times, ...series, version, ...figures };
      publish(copy, path, manifest);
      return manifest;
    },
  );
}

async function seriesTimeOf(path: string, startedAt: Date): Promise<Pick<Manifest, 'seriesAt'>> {
  const name = parseBackupName(basename(path));
  if (name === undefined) return {};
  const series = await listSeries(dirname(path), name.store);
  const { seriesMs } = nextInSeries(series, startedAt.valueOf());
  return { seriesAt: new Date(seriesMs).toISOString() };
}

/** Copies the plants one by one. Makes one file without a WAL. @returns what was read */
async function copyDatabase(
  location: StoreLocation,
  path: string,
  terminal: Terminal,
): Promise<PlantFigures> {
  const file = fileLocation(path);
  const choices = { acceptsLostCommits: false, isTemporary: true };
  const copied = await makeStoreCopy(location, file, choices, terminal).catch((error) => {
    throw error instanceof StoreError
      ? new CommandError(`cannot copy the store (${error.message})`, { cause: error })
      : error;
  });
  demandSame(copied);
  await sqliteEngine(file).seal();
  return copied.source;
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

/** Names the manifest first, so that no backup lacks one. Synchronous: no signal divides it. */
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
