import { existsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { copyFileDurably, shortOfRoom } from '../files.ts';
import { sqliteOnly } from '../store/location.ts';
import { claimStore } from '../stores.ts';
import { compactTime } from './backup.ts';
import { CommandError, command, type Terminal } from './command.ts';
import { type BackupFigures, differences, inspectWhole, printFigures, readManifest } from './manifest.ts';
import { inUnfinishedFolder } from './unfinished.ts';

export const restore = command({
  name: 'restore',
  positionals: ['SRC'],
  summary: 'Make a backup the store, after checking it. Nothing may have the store open.',
  flags: ['store', 'overwrite', 'json'],
  examples: ['plant-store restore /var/backups/plants.db', 'plant-store restore /var/backups/plants.db --overwrite'],
  async run({ values, positionals: [source = ''] }, terminal) {
    const path = resolve(sqliteOnly(values.store).path);
    refuseAsSource(source, path);
    using store = claimStore(sqliteOnly(values.store), values.overwrite);
    const keptPath = `${path}.replaced-${compactTime(new Date())}`;

    const { found, wasThere } = await inUnfinishedFolder(path, terminal, async (folder) => {
      const copy = join(folder, 'plants.db');
      const found = await copyChecked(source, copy, terminal);
      return { found, wasThere: store.replaceBy(copy, keptPath) };
    });
    printFigures(path, found, values.json, terminal);
    terminal.note(`The store at ${path} is now that of the backup ${source}.`);
    if (wasThere) terminal.note(`The store that was there before is kept at ${keptPath}.`);
    return 0;
  },
});

function refuseAsSource(source: string, storePath: string): void {
  const file = statSync(source, { throwIfNoEntry: false });
  if (!file?.isFile()) throw new CommandError(`there is no file ${source} to restore`);
  const store = statSync(storePath, { throwIfNoEntry: false });
  if (store?.ino === file.ino && store.dev === file.dev) throw new CommandError(`${source} is the store itself`);
  // A backup is not in WAL mode and never has one.
  if (!existsSync(`${source}-wal`)) return;
  throw new CommandError(
    `${source} is a store in use and not a backup, for ${source}-wal belongs to it; make one with "plant-store backup"`,
  );
}

/** Copies the backup and finds that the copy is what the manifest says. @throws CommandError if it is not */
async function copyChecked(source: string, copy: string, terminal: Terminal): Promise<BackupFigures> {
  const manifest = readManifest(source);
  const tooFull = shortOfRoom(dirname(copy), statSync(source).size);
  if (tooFull !== undefined) throw new CommandError(tooFull);
  terminal.showProgress('copying');
  await copyFileDurably(source, copy);
  const found = await inspectWhole(copy, terminal.showProgress);
  if ('fault' in found) throw new CommandError(`${source} ${found.fault}; nothing has been restored`);
  const wrong = manifest === undefined ? [] : differences(manifest, found);
  if (wrong.length > 0) throw new CommandError(`${source} is not what its manifest says: ${wrong.join(', ')}; nothing has been restored`);
  terminal.showProgress('');
  if (manifest === undefined) terminal.note(`There is no manifest beside ${source}, so it could only be checked for damage.`);
  return found;
}
