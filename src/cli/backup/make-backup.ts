import { existsSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { createFileDurably, linkDurably } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import { StoreError, StoreOpenError } from '../../store/errors.ts';
import { fileLocation, type StoreLocation } from '../../store/location.ts';
import { commandFor, engineOf, openExistingStore, sqliteEngine } from '../../stores.ts';
import { version } from '../../version.ts';
import { CommandError, type Terminal } from '../command.ts';
import { differencesOf, makeStoreCopy } from '../transfer/store-copy.ts';
import { refuseStoreFile } from '../transfer/store-files.ts';
import { parseBackupName } from './backup-name.ts';
import { inspectWhole, type Manifest, manifestPath, manifestText } from './manifest.ts';
import { listBackups } from './parts.ts';
import { nextInSeries } from './series-time.ts';
import { withUnfinishedFolder } from './unfinished-folder.ts';

/** @throws CommandError */
export function refuseTakenName(path: string, store: StoreLocation): void {
  for (const name of [path, manifestPath(path)]) {
    if (existsSync(name)) throw nameTaken(name);
    refuseStoreFile(name, [store]);
  }
}

/** The full backup that an increment adds to. */
export interface Base {
  readonly path: string;
  readonly manifest: Manifest;
}

interface Choices {
  readonly base?: Base | undefined;
  /** Where the backup is made until it gets its name; by default a new folder beside `path`. */
  readonly unfinished?: string;
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
  { base, unfinished }: Choices = {},
): Promise<Manifest> {
  return withUnfinishedFolder(
    {
      ...{ path, folder: unfinished, work: 'the backup' },
      left: 'no backup has been made, and earlier ones are as they were; make it again',
    },
    terminal,
    async (folder) => {
      const copy = join(folder, basename(path));
      if (base === undefined) await copyToFile(location, copy, terminal);
      else await engineOf(location).increments?.copy(base.path, copy, terminal.showProgress);
      const figures = await inspectWhole(copy, terminal.showProgress);
      if ('fault' in figures)
        throw new CommandError(
          `the copy ${figures.fault}; check the store with ${commandFor(location, 'verify')}`,
        );
      const times = { createdAt: startedAt.toISOString(), checkedAt: new Date().toISOString() };
      const manifest = {
        ...{ ...times, ...seriesTimeOf(path, startedAt), version, ...figures },
        ...(base === undefined ? {} : sinceBase(base, figures.plants)),
      };
      publish(copy, path, manifest);
      return manifest;
    },
  );
}

/** Nothing for a file without the name of a series. */
function seriesTimeOf(path: string, startedAt: Date): Pick<Manifest, 'seriesAt'> {
  const name = parseBackupName(basename(path));
  if (name === undefined) return {};
  const series = listBackups(dirname(path)).filter(({ store }) => store === name.store);
  const { seriesMs } = nextInSeries(series, startedAt.valueOf());
  return { seriesAt: new Date(seriesMs).toISOString() };
}

function sinceBase({ path, manifest: { sha256, plants } }: Base, added: number) {
  return { base: basename(path), baseSha256: sha256, allPlants: plants + added };
}

/** Makes one file without a WAL, which has been compared with the store. */
async function copyToFile(
  location: StoreLocation,
  path: string,
  terminal: Terminal,
): Promise<void> {
  const { backUp } = engineOf(location);
  if (backUp) return backUp(path, terminal.showProgress);
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

/** Records the backup in the store, for `doctor`. The backup is good without the record. */
export async function recordBackup(
  location: StoreLocation,
  file: string,
  manifest: Manifest,
  terminal: Terminal,
): Promise<void> {
  try {
    await using store = await openExistingStore(location, limits.cli.lockMs);
    await store.recordBackup({
      file,
      finishedAtMs: Date.now(),
      plants: manifest.allPlants ?? manifest.plants,
      digest: manifest.digest,
    });
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
