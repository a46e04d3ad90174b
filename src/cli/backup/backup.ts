import { existsSync, rmSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { createFileDurably, linkDurably } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import { StoreError, StoreOpenError } from '../../store/errors.ts';
import { fileLocation, type StoreLocation } from '../../store/location.ts';
import { engineOf, openExistingStore, sqliteEngine } from '../../stores.ts';
import { version } from '../../version.ts';
import { CommandError, command, type Terminal } from '../command.ts';
import { differencesOf, makeStoreCopy } from '../transfer/store-copy.ts';
import { refuseStoreFile } from '../transfer/store-files.ts';
import {
  inspectWhole,
  type Manifest,
  manifestPath,
  manifestText,
  printFigures,
} from './manifest.ts';
import { withUnfinishedFolder } from './unfinished-folder.ts';

export const backup = command({
  positionals: ['DEST'],
  summary:
    'Copy the store to a file or into a folder, and check the copy. Services may run on the store.',
  need: 'Use it every night, and before each upgrade.',
  flags: ['store', 'json'],
  examples: [
    'plant-store backup /var/backups/plants.db',
    'plant-store backup /var/backups --store sqlite:/var/lib/plant-store/plants.db',
  ],
  async run({ values, positionals: [destination = ''] }, terminal) {
    const startedAt = new Date();
    const path = backupPath(resolve(destination), values.store, startedAt);
    for (const name of [path, manifestPath(path)]) {
      if (existsSync(name)) throw nameTaken(name);
      refuseStoreFile(name, [values.store]);
    }

    const manifest = await makeBackup(values.store, path, startedAt, terminal);
    await recordBackup(values.store, path, manifest, terminal);
    printFigures(path, manifest, values.json, terminal);
    terminal.note(`The backup is ${path}, and its manifest ${manifestPath(path)}.`);
    return 0;
  },
});

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
): Promise<Manifest> {
  return withUnfinishedFolder(path, terminal, async (folder) => {
    const copy = join(folder, basename(path));
    await copyToFile(location, copy, terminal);
    const figures = await inspectWhole(copy, terminal.showProgress);
    if ('fault' in figures)
      throw new CommandError(
        `the copy ${figures.fault}; check the store with "plant-store verify"`,
      );
    const manifest = { createdAt: startedAt.toISOString(), version, ...figures };
    publish(copy, path, manifest);
    return manifest;
  });
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
      plants: manifest.plants,
      digest: manifest.digest,
    });
  } catch (error) {
    if (!(error instanceof StoreOpenError || error instanceof StoreError)) throw error;
    terminal.note(`The backup could not be recorded in the store: ${error.message}`);
  }
}

/** The name in a folder has the store and the time: `plants-20261122T001500Z.db`. */
function backupPath(destination: string, store: StoreLocation, now: Date): string {
  if (!statSync(destination, { throwIfNoEntry: false })?.isDirectory()) return destination;
  return join(destination, `${engineOf(store).backupName}-${compactTime(now)}.db`);
}

/** ISO 8601 in UTC, to the second, without punctuation. */
export function compactTime(time: Date): string {
  return time.toISOString().replaceAll(/[-:]|\.[0-9]+/g, '');
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
