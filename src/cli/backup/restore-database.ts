import { resolve } from 'node:path';
import type { Values } from '../../config/flags.ts';
import { UsageError } from '../../config/values.ts';
import { fileLocation, type PostgresLocation } from '../../store/location.ts';
import { postgresEngine } from '../../stores.ts';
import { CommandError, type Terminal } from '../command.ts';
import { differencesOf, makeStoreCopy, refuseOtherPlants } from '../transfer/store-copy.ts';
import { demandSound, printFigures } from './manifest.ts';

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
  const backup = fileLocation(resolve(source));
  const { text } = postgresEngine(location);
  const found = await demandSound(source, backup.path, terminal);
  const copyChoices = {
    acceptsLostCommits: choices['accept-lost-commits'],
    isTemporary: false,
  };
  await refuseOtherPlants(backup, location, terminal);
  const wrong = differencesOf(await makeStoreCopy(backup, location, copyChoices, terminal));
  if (wrong !== undefined) throw new CommandError(wrong);
  printFigures(text, found, choices.json, terminal);
  terminal.note(`The store at ${text} now holds the backup ${source}.`);
}
