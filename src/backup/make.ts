import { existsSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CommandError, type Terminal } from '../cli/command.ts';
import { type Retention, UsageError } from '../cli/flags/values.ts';
import { withUnfinishedFolder } from '../cli/unfinished-folder.ts';
import { createFileDurably, linkDurably } from '../disk/files.ts';
import { version } from '../program.ts';
import { ageText, isoTime } from '../quantity-text.ts';
import { resolveEngine } from '../store/engine.ts';
import { engineOf, openToChange, sqliteEngine } from '../store/engines.ts';
import { StoreError, StoreOpenError } from '../store/errors.ts';
import {
  fileLocation,
  type PostgresLocation,
  type SqliteLocation,
  type StoreLocation,
} from '../store/location.ts';
import { demandSame, makeStoreCopy } from '../transfer/store-copy.ts';
import { refuseStoreFile } from '../transfer/store-files.ts';
import {
  compareInFolder,
  compareWithBackup,
  differenceText,
  faultOf,
  holdsAll,
  inspectBackup,
} from './check.ts';
import { claimFolder, nextName, thinBackups, unfinishedPath } from './folder.ts';
import {
  backupsOf,
  compareWithSeries,
  givenUpIn,
  type Holding,
  hasNewDecision,
  isOwn,
  listHoldings,
  lostOf,
  type Origin,
} from './lineage.ts';
import { countsText, lossText } from './loss.ts';
import { type BackupFigures, type Manifest, manifestPath, manifestText } from './manifest.ts';
import { originOf, placeOf } from './origin.ts';
import { type BackupInSeries, listBackups, nextInSeries } from './series.ts';

interface MadeBackup extends Manifest {
  readonly file: string;
  /** Older backups that were removed from the folder. */
  readonly removed?: number;
  readonly warning?: string;
}

interface FolderChoices {
  /** Undefined: no backup is removed. */
  readonly keep: Retention | undefined;
  /** Whether the operator gives up the plants that only earlier backups have. */
  readonly isNewStore: boolean;
}

/** Makes a backup in the file, or in the folder under a new name. @throws as `makeBackup` */
export async function backUpTo(
  destination: string,
  choices: FolderChoices,
  location: StoreLocation,
  terminal: Terminal,
): Promise<MadeBackup> {
  if (statSync(destination, { throwIfNoEntry: false })?.isDirectory())
    return backUpIntoFolder(destination, choices, location, terminal);
  if (choices.isNewStore)
    throw new UsageError('--new-store yes is for a folder of backups; name a folder');
  if (choices.keep !== undefined)
    throw new CommandError(
      `there is no folder ${destination}, in which the backups are kept; make the folder`,
    );
  for (const name of [destination, manifestPath(destination)]) {
    if (existsSync(name)) throw nameTaken(name);
    refuseStoreFile(name, location);
  }
  const manifest = await makeBackup(location, destination, new Date(), terminal);
  await recordBackup(location, destination, manifest, terminal);
  return { file: destination, ...manifest };
}

/**
 * Adds a backup to the folder, and then removes backups that no rule keeps.
 *
 * A backup would take damage of the store over, and no later comparison would find the damage. So
 * the backups before are compared with the copy first.
 *
 * @throws CommandError also for a damaged store; StoreOpenError, StoreError. Then the backups in
 * the folder are as they were.
 */
async function backUpIntoFolder(
  folder: string,
  { keep, isNewStore }: FolderChoices,
  location: StoreLocation,
  terminal: Terminal,
): Promise<MadeBackup> {
  const store = engineOf(location).backupName;
  using _ = await claimFolder(folder, store, terminal);
  const { at, file } = await nextName(folder, store);
  const found = await originOf(location);
  const decided = { decidedAtMs: at.valueOf(), restored: undefined };
  const origin: Origin = isNewStore ? { ...found, ...decided } : found;
  const series = backupsOf(origin, await listBackups(folder));
  const { isFar, clockMs, seriesMs } = nextInSeries(series, at.valueOf());
  const comparison = openComparison(folder, location, origin, series, terminal);
  const manifest = await makeBackup(location, file, at, terminal, {
    unfinished: unfinishedPath(folder, store),
    describe: async (copy, figures) => ({
      seriesAt: isoTime(seriesMs),
      ...(await comparison.describe(copy, figures)),
    }),
  });
  await recordBackup(location, file, manifest, terminal, isNewStore);
  const made = { file, ...manifest };
  const { warnings } = comparison;
  if (isFar)
    warnings.push(
      'No older backup was removed: by the clock, which may be wrong, this backup comes ' +
        `${ageText(clockMs - (series.at(-1)?.clockMs ?? 0))} after the one before.`,
    );
  const newest = { store, at, file: basename(file), clockMs, seriesMs, manifest };
  const thinned =
    keep && !isFar
      ? await thinBackups(folder, [...series, newest], keep, terminal)
      : { removed: 0, kept: [] };
  warnings.push(...thinned.kept);
  return {
    ...made,
    ...(keep && { removed: thinned.removed }),
    ...(warnings.length > 0 && { warning: warnings.join(' ') }),
  };
}

/** Compares the copy of a store with its backups in a folder. */
function openComparison(
  folder: string,
  location: StoreLocation,
  origin: Origin,
  series: readonly BackupInSeries[],
  terminal: Terminal,
) {
  const decides = hasNewDecision(origin, series);
  const warnings: string[] = [];
  const differences = new Map<string, string>();
  const givenUp = new Set(givenUpIn(series, origin));

  /** @throws CommandError for a plant that has changed */
  async function compare(copy: string, backup: BackupInSeries): Promise<Holding> {
    const { file, manifest } = backup;
    const path = join(folder, file);
    const found = await compareInFolder(folder, backup, fileLocation(copy), terminal);
    if (!(found instanceof Error) && holdsAll(found)) return 'held';
    const fault = await faultOf(path, terminal);
    if (fault !== undefined) {
      warnings.push(`An earlier backup is bad, and stays: ${fault}.`);
      return 'damaged';
    }
    if (found instanceof Error) throw found;
    const difference = differenceText(found, path, location);
    // Another store in the same place, or a clone, has plants of its own under the ids.
    if (found.taken.count > 0 && isOwn(manifest, origin) && !givenUp.has(file))
      throw new CommandError(
        `${difference}; no backup was made, and the earlier ones are as they were`,
      );
    differences.set(file, difference);
    return 'lacking';
  }

  return {
    warnings,
    async describe(copy: string, figures: BackupFigures) {
      // What was given up is not read again. One backup of each such branch stays.
      const isLeftOut = ({ file }: BackupInSeries) => !decides && givenUp.has(file);
      const others = series.filter((backup) => !isLeftOut(backup));
      const compared = await compareWithSeries(figures, others, (one) => compare(copy, one));
      const lacks = [...series.filter(isLeftOut).map(({ file }) => file), ...compared.lacks];
      const accepted = lacks.filter((file) => givenUp.has(file));
      const lost = lostOf(lacks, accepted, origin, series);
      const [told] = [...lost.filter(({ file }) => differences.has(file)), ...lost];
      if (told !== undefined) {
        const difference = differences.get(told.file) ?? countsText(told, figures.plants);
        warnings.push(lossText(location, origin.identity, folder, told, difference));
      }
      const { decidedAtMs } = origin;
      return {
        ...listHoldings({ ...compared, lacks }, series),
        ...(accepted.length > 0 && { givenUp: accepted }),
        ...(decidedAtMs !== undefined && { decidedAt: isoTime(decidedAtMs) }),
      };
    },
  };
}

interface InFolder {
  /** Where the backup is made; by default a new folder beside its path. */
  readonly unfinished?: string;
  /** Compares the copy, and returns what the manifest says of it. @throws CommandError */
  describe?(copy: string, figures: BackupFigures): Promise<Partial<Manifest>>;
}

/**
 * Copies the store to `path`, checks the copy, and writes its manifest, durably.
 *
 * @throws CommandError, StoreOpenError, StoreError. Then `path` does not exist.
 */
export function makeBackup(
  location: StoreLocation,
  path: string,
  startedAt: Date,
  terminal: Terminal,
  { unfinished, describe }: InFolder = {},
): Promise<Manifest> {
  const left = 'no backup has been made, and earlier ones are as they were; make it again';
  return withUnfinishedFolder(
    { path, folder: unfinished, work: 'the backup', left },
    terminal,
    async (folder) => {
      const copy = join(folder, basename(path));
      const figures = await resolveEngine<Promise<BackupFigures>>(
        {
          sqlite: (file) => copyFile(file, copy, terminal),
          postgres: (database) => copyDatabase(database, copy, terminal),
        },
        location,
      );
      const described = await describe?.(copy, figures);
      const times = { createdAt: startedAt.toISOString(), checkedAt: new Date().toISOString() };
      const { place } = placeOf(location);
      const manifest = { ...times, ...described, version, place, ...figures };
      publish(copy, path, manifest);
      return manifest;
    },
  );
}

/** @returns the figures of the copy, which holds what the file holds */
async function copyFile(
  location: SqliteLocation,
  copy: string,
  terminal: Terminal,
): Promise<BackupFigures> {
  await sqliteEngine(location).backUp(copy, terminal.showProgress);
  const figures = await inspectCopy(copy, location, terminal);
  // Plants that came to the store after the copy are no difference.
  const found = await compareWithBackup(copy, figures.plants, location, terminal);
  if (holdsAll(found)) return figures;
  throw new CommandError(
    `the copy differs from the store: ${differenceText(found, copy, location)}`,
  );
}

/** Copies the plants one by one, into one file without a WAL. @returns the figures of the file */
async function copyDatabase(
  location: PostgresLocation,
  copy: string,
  terminal: Terminal,
): Promise<BackupFigures> {
  const file = fileLocation(copy);
  const choices = { acceptsLostCommits: false, isForBackup: true };
  const copied = await makeStoreCopy(location, file, choices, terminal).catch((error) => {
    throw error instanceof StoreError
      ? new CommandError(`cannot copy the store (${error.message})`, { cause: error })
      : error;
  });
  demandSame(copied);
  await sqliteEngine(file).seal();
  const figures = await inspectCopy(copy, location, terminal);
  if (figures.digest === copied.source.digest) return figures;
  throw new CommandError('the copy differs from what was read of the store; repeat it');
}

async function inspectCopy(
  copy: string,
  location: StoreLocation,
  terminal: Terminal,
): Promise<BackupFigures> {
  const figures = await inspectBackup(copy, terminal);
  if (!('fault' in figures)) return figures;
  const check = engineOf(location).command('verify');
  throw new CommandError(`the copy ${figures.fault}; check the store with ${check}`);
}

/** Records the backup, and its decision, in the store. The backup is good without the record. */
export async function recordBackup(
  location: StoreLocation,
  file: string,
  { plants, digest, decidedAt }: Manifest,
  terminal: Terminal,
  decides = false,
): Promise<void> {
  try {
    await using store = await openToChange(location);
    await store.recordBackup({ file, finishedAtMs: Date.now(), plants, digest });
    if (decides && decidedAt !== undefined) await store.noteDecision(Date.parse(decidedAt));
  } catch (error) {
    if (!(error instanceof StoreOpenError || error instanceof StoreError)) throw error;
    terminal.note(`The backup could not be recorded in the store: ${error.message}`);
  }
}

/** Names the manifest first, so that no backup lacks one. Synchronous: no signal divides it. */
function publish(copy: string, path: string, manifest: Manifest): void {
  if (!createFileDurably(manifestPath(path), manifestText(manifest)))
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
