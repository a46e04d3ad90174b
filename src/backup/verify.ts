import { resolve } from 'node:path';
import { CommandError, command, type Terminal } from '../cli/command.ts';
import { UsageError } from '../cli/flags/values.ts';
import { printFigures } from '../cli/terminal/figures.ts';
import { atInterruption } from '../cli/terminal/interruption.ts';
import { limits } from '../limits.ts';
import { shellQuoted } from '../store/command-text.ts';
import { engineOf } from '../store/engines.ts';
import { fileLocation, type StoreLocation } from '../store/location.ts';
import { compareWithBackup, demandBackup, demandSound, differenceText, holdsAll } from './check.ts';
import { resolveBackup } from './folder.ts';
import { manifestPath } from './manifest.ts';

export const verify = command({
  positionals: ['[FILE]'],
  summary: 'Check a backup against its manifest, or the store, and print what it holds.',
  need: 'Use it for backups at regular times, and for a store after trouble with its disk.',
  flags: ['store', 'against', 'json'],
  examples: [
    'plant-store verify',
    'plant-store verify /var/backups/plants.db',
    'plant-store verify /var/backups',
    'plant-store verify --against /var/backups/plants.db',
  ],
  async run({ values, positionals: [file] }, terminal) {
    if (file !== undefined && values.against !== undefined)
      throw new UsageError('verify takes FILE or --against, because --against is about the store');
    using _ = atInterruption(terminal, 'the check');
    const { store, against, json } = values;
    if (against !== undefined) await verifyAgainst(against, store, json, terminal);
    else if (file === undefined) await verifyStore(store, json, terminal);
    else await verifyBackup(await resolveBackup(file, store, terminal), json, terminal);
    return 0;
  },
});

async function verifyStore(
  location: StoreLocation,
  json: boolean,
  terminal: Terminal,
): Promise<void> {
  const { name, inspect, doubt, triggers } = engineOf(location);
  const figures = await inspect(limits.cli.readMs, terminal.showProgress);
  terminal.showProgress('');
  if ('fault' in figures)
    throw new CommandError(`the store at ${name} ${figures.fault}; restore it from a backup`);
  printFigures({ file: name }, figures, json, terminal);
  const found = await triggers();
  const says = (await doubt()) ?? (found && `the store has ${found.says}; ${found.remedy}`);
  if (says !== undefined) throw new CommandError(`what was read is sound, but ${says}`);
  terminal.note(`The store at ${name} is sound.`, 'good');
}

async function verifyBackup(file: string, json: boolean, terminal: Terminal): Promise<void> {
  demandBackup(file, 'verify');
  const { figures, manifest } = await demandSound(file, resolve(file), terminal);
  printFigures({ file }, figures, json, terminal);
  if (manifest === undefined)
    throw new CommandError(
      `${file} is sound, but without ${manifestPath(file)} it is unknown whether the ` +
        'backup has changed',
    );
  terminal.note(`The backup ${file} is sound, and matches its manifest.`, 'good');
  const triggers = await engineOf(fileLocation(file)).triggers();
  if (triggers) terminal.note(`The backup has ${triggers.says}. "restore" leaves this out.`);
}

async function verifyAgainst(
  path: string,
  location: StoreLocation,
  json: boolean,
  terminal: Terminal,
): Promise<void> {
  const backup = resolve(await resolveBackup(path, location, terminal));
  demandBackup(backup, 'compare');
  const { figures } = await demandSound(backup, backup, terminal);
  const { name: store, file } = engineOf(location);
  const { plants } = figures;
  const found = await compareWithBackup(backup, plants, location, terminal);
  const { taken, lacking } = found;
  const counts = { plants, changed: taken.count, missing: lacking.count };
  printFigures({ store, backup }, counts, json, terminal);
  if (holdsAll(found))
    return terminal.note(`The store at ${store} holds every plant of ${backup}.`, 'good');
  const remedy =
    file === undefined
      ? 'restore the backup into another database, and compare both'
      : 'stop the service, and restore the backup: ' +
        `${engineOf(location).command(`restore ${shellQuoted(backup)} --overwrite`)}`;
  throw new CommandError(`${differenceText(found, backup, location)}; ${remedy}`);
}
