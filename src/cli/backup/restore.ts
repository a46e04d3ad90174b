import { createReadStream, createWriteStream, existsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Values } from '../../config/flags.ts';
import { UsageError } from '../../config/values.ts';
import { shortOfSpace } from '../../disk/file-system.ts';
import { isSameFile } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import { locationText, type PostgresLocation, type SqliteLocation } from '../../store/location.ts';
import { claimStore } from '../../stores.ts';
import { CommandError, command, type Terminal } from '../command.ts';
import {
  differencesOf,
  makeStoreCopy,
  noteNewStore,
  refuseOtherPlants,
} from '../transfer/store-copy.ts';
import { compactTime } from './backup.ts';
import {
  type BackupFigures,
  differences,
  inspectWhole,
  printFigures,
  readManifest,
} from './manifest.ts';
import { withUnfinishedFolder } from './unfinished-folder.ts';

export const restore = command({
  positionals: ['SRC'],
  summary:
    'Check a backup and make it the store. No process may have an SQLite store open; a database must hold no other plants.',
  need: 'Use it after the loss of a store, and to rehearse a loss.',
  flags: ['store', 'overwrite', 'accept-lost-commits', 'json'],
  examples: [
    'plant-store restore /var/backups/plants.db',
    'plant-store restore /var/backups/plants.db --overwrite',
  ],
  async run({ values, positionals: [source = ''] }, terminal) {
    const { store } = values;
    refuseAsSource(source);
    if (store.engine === 'postgres') await fillDatabase(source, store, values, terminal);
    else await replaceFile(source, store, values, terminal);
    return 0;
  },
});

type Choices = Values<'overwrite' | 'accept-lost-commits' | 'json'>;

async function replaceFile(
  source: string,
  location: SqliteLocation,
  { overwrite, json }: Choices,
  terminal: Terminal,
): Promise<void> {
  const path = resolve(location.path);
  if (isSameFile(source, path)) throw new CommandError(`${source} is the store itself`);
  using store = claimStore(location, overwrite);
  const keptPath = `${path}.replaced-${compactTime(new Date())}`;

  const { found, wasThere } = await withUnfinishedFolder(path, terminal, async (folder) => {
    const copy = join(folder, 'plants.db');
    const found = await copyChecked(source, copy, terminal);
    return { found, wasThere: store.replaceBy(copy, keptPath) };
  });
  printFigures(path, found, json, terminal);
  if (!wasThere) noteNewStore(location, terminal);
  terminal.note(`The store at ${path} now holds the backup ${source}.`);
  if (wasThere) terminal.note(`The replaced store is kept at ${keptPath}.`);
}

/** Safe to repeat after an interruption: the plants of the backup may be in the database. */
async function fillDatabase(
  source: string,
  location: PostgresLocation,
  choices: Choices,
  terminal: Terminal,
): Promise<void> {
  if (choices.overwrite) {
    throw new UsageError(
      '--overwrite is not possible on PostgreSQL, because the replaced plants could not be kept; name another database',
    );
  }
  const backup = { engine: 'sqlite', path: resolve(source) } as const;
  const found = await findSound(source, backup.path, terminal);
  const copyChoices = {
    acceptsLostCommits: choices['accept-lost-commits'],
    isTemporary: false,
  };
  await refuseOtherPlants(backup, location, terminal);
  const wrong = differencesOf(await makeStoreCopy(backup, location, copyChoices, terminal));
  if (wrong !== undefined) throw new CommandError(wrong);
  printFigures(locationText(location), found, choices.json, terminal);
  terminal.note(`The store at ${locationText(location)} now holds the backup ${source}.`);
}

function refuseAsSource(source: string): void {
  if (!statSync(source, { throwIfNoEntry: false })?.isFile())
    throw new CommandError(`there is no file ${source} to restore`);
  // A backup is not in WAL mode, and has no WAL.
  if (!existsSync(`${source}-wal`)) return;
  throw new CommandError(
    `${source} is a store in use and not a backup, because ${source}-wal exists; make a backup with "plant-store backup"`,
  );
}

/** Copies the backup and checks the copy. @throws CommandError */
async function copyChecked(
  source: string,
  copy: string,
  terminal: Terminal,
): Promise<BackupFigures> {
  const tooFull = shortOfSpace(dirname(copy), statSync(source).size);
  if (tooFull !== undefined) throw new CommandError(tooFull);
  terminal.showProgress('copying');
  await copyFileDurably(source, copy);
  return findSound(source, copy, terminal);
}

/** Copies a file to a new file with mode 0600, durably. */
async function copyFileDurably(source: string, path: string): Promise<void> {
  await pipeline(
    createReadStream(source, { highWaterMark: limits.disk.chunkBytes }),
    createWriteStream(path, {
      flags: 'wx',
      mode: 0o600,
      flush: true,
      highWaterMark: limits.disk.chunkBytes,
    }),
  );
}

/**
 * Checks a backup against its manifest.
 *
 * @param copy of the backup, or the backup itself
 * @throws CommandError
 */
async function findSound(source: string, copy: string, terminal: Terminal): Promise<BackupFigures> {
  const manifest = readManifest(source);
  const found = await inspectWhole(copy, terminal.showProgress);
  if ('fault' in found)
    throw new CommandError(`${source} ${found.fault}; nothing has been restored`);
  const wrong = manifest === undefined ? [] : differences(manifest, found);
  if (wrong.length > 0)
    throw new CommandError(
      `${source} differs from its manifest: ${wrong.join(', ')}; nothing has been restored`,
    );
  terminal.showProgress('');
  if (manifest === undefined)
    terminal.note(`${source} has no manifest, and was only checked for damage.`);
  return found;
}
