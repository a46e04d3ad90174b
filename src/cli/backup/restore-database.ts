import { basename, join, resolve } from 'node:path';
import type { Values } from '../../config/flags.ts';
import { UsageError } from '../../config/values.ts';
import { fileLocation, type PostgresLocation } from '../../store/location.ts';
import { postgresEngine } from '../../stores.ts';
import { CommandError, type Terminal } from '../command.ts';
import { differencesOf, makeStoreCopy, refuseOtherPlants } from '../transfer/store-copy.ts';
import { assembleBackup } from './assemble-backup.ts';
import { type BackupFigures, demandSound, printFigures } from './manifest.ts';
import { partsOf } from './parts.ts';
import { withUnfinishedFolder } from './unfinished-folder.ts';

/** Copies the plants of the backup into a database. After an interruption, run it again. */
export async function restoreIntoDatabase(
  source: string,
  location: PostgresLocation,
  choices: Values<'overwrite' | 'accept-lost-commits' | 'json'>,
  terminal: Terminal,
): Promise<void> {
  if (choices.overwrite) {
    throw new UsageError(
      '--overwrite is not possible on PostgreSQL, because the replaced plants could not be kept; name another database',
    );
  }
  const { text } = postgresEngine(location);
  const copyChoices = {
    acceptsLostCommits: choices['accept-lost-commits'],
    isTemporary: false,
  };
  const found = await withWholeFile(resolve(source), terminal, async (path, figures) => {
    const backup = fileLocation(path);
    await refuseOtherPlants(backup, location, terminal);
    const wrong = differencesOf(await makeStoreCopy(backup, location, copyChoices, terminal));
    if (wrong !== undefined) throw new CommandError(wrong);
    return figures;
  });
  printFigures(text, found, choices.json, terminal);
  terminal.note(`The store at ${text} now holds the backup ${source}.`);
}

/** Checks the backup. An increment and its full backup become one file for as long as `work` takes. */
async function withWholeFile<T>(
  source: string,
  terminal: Terminal,
  work: (path: string, figures: BackupFigures) => Promise<T>,
): Promise<T> {
  if (partsOf(source).length === 1)
    return work(source, await demandSound(source, source, terminal));
  return withUnfinishedFolder(
    { path: source, work: 'the restore', left: 'run it again to go on' },
    terminal,
    async (folder) => {
      const whole = join(folder, basename(source));
      return work(whole, await assembleBackup(source, whole, terminal));
    },
  );
}
