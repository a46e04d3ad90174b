import { join, resolve } from 'node:path';
import type { Values } from '../../config/flags.ts';
import { compactTime } from '../../disk/compact-time.ts';
import { isSameFile } from '../../disk/files.ts';
import type { SqliteLocation } from '../../store/location.ts';
import { sqliteEngine } from '../../stores.ts';
import { CommandError, type Terminal } from '../command.ts';
import { noteNewStore } from '../transfer/store-copy.ts';
import { assembleBackup } from './assemble-backup.ts';
import { printFigures } from './manifest.ts';
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

  const { found, wasThere } = await withUnfinishedFolder(
    { path, work: 'the restore', left: `the store at ${path} is as it was; restore again` },
    terminal,
    async (folder) => {
      const copy = join(folder, 'plants.db');
      const found = await assembleBackup(source, copy, terminal);
      return { found, wasThere: store.replaceBy(copy, keptPath) };
    },
  );
  printFigures(path, json && wasThere ? { ...found, replaced: keptPath } : found, json, terminal);
  if (!wasThere) noteNewStore(location, terminal);
  terminal.note(`The store at ${path} now holds the backup ${source}.`);
  if (wasThere) terminal.note(`The replaced store is kept at ${keptPath}.`);
}
