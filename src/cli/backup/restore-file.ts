import { createReadStream, createWriteStream, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Values } from '../../config/flags.ts';
import { shortOfSpace } from '../../disk/file-system.ts';
import { isSameFile } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import type { SqliteLocation } from '../../store/location.ts';
import { sqliteEngine } from '../../stores.ts';
import { CommandError, type Terminal } from '../command.ts';
import { noteNewStore } from '../transfer/store-copy.ts';
import { compactTime } from './backup.ts';
import { type BackupFigures, demandSound, printFigures } from './manifest.ts';
import { withUnfinishedFolder } from './unfinished-folder.ts';

/** Puts a checked copy of the backup in the place of the store. The old store gets another name. */
export async function restoreFile(
  source: string,
  location: SqliteLocation,
  { overwrite, json }: Values<'overwrite' | 'json'>,
  terminal: Terminal,
): Promise<void> {
  const path = resolve(location.path);
  if (isSameFile(source, path)) throw new CommandError(`${source} is the store itself`);
  using store = await sqliteEngine(location).claim(overwrite);
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
  return demandSound(source, copy, terminal);
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
