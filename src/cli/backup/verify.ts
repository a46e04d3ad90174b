import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { UsageError } from '../../config/values.ts';
import { limits } from '../../limits.ts';
import type { StoreLocation } from '../../store/location.ts';
import { engineOf } from '../../stores.ts';
import { CommandError, command, type Terminal } from '../command.ts';
import { runJob } from '../job.ts';
import { atInterruption } from '../terminal/interruption.ts';
import { numberText, plantsText } from '../terminal/progress.ts';
import { verifyAgainst } from './against.ts';
import { demandBase } from './assemble-backup.ts';
import {
  type BackupFigures,
  differences,
  inspectWhole,
  manifestPath,
  printFigures,
  readManifest,
} from './manifest.ts';
import { demandParts, resolveBackup } from './parts.ts';

export const verify = command({
  positionals: ['[FILE]'],
  summary:
    'Check every page of a backup against its manifest, or of the store, and print what it holds. Of a folder, only the newest backup is checked.',
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
    using _ = atInterruption(terminal, (signal) =>
      terminal.note(
        `plant-store: ${signal} has stopped the check before its end; check again`,
        'bad',
      ),
    );
    const { store, against, json } = values;
    if (against !== undefined)
      await runJob('scrub', store, terminal, () => verifyAgainst(against, store, json, terminal));
    else if (file === undefined) await verifyStore(store, json, terminal);
    else await verifyBackup(resolveBackup(file, store, terminal), json, terminal);
    return 0;
  },
});

async function verifyStore(
  location: StoreLocation,
  json: boolean,
  terminal: Terminal,
): Promise<void> {
  const { name, inspect } = engineOf(location);
  const figures = await inspect(limits.cli.readMs, terminal.showProgress);
  terminal.showProgress('');
  if ('fault' in figures)
    throw new CommandError(`the store at ${name} ${figures.fault}; restore it from a backup`);
  printFigures(name, figures, json, terminal);
  terminal.note(`The store at ${name} is sound.`, 'good');
}

async function verifyBackup(file: string, json: boolean, terminal: Terminal): Promise<void> {
  if (!statSync(file, { throwIfNoEntry: false })?.isFile())
    throw new CommandError(`there is no file ${file} to verify`);
  const [base = file, increment] = demandParts(file);
  const found = await verifyPart(base, json, terminal);
  if (increment === undefined) {
    terminal.note(`The backup ${file} is sound, and matches its manifest.`, 'good');
    return;
  }
  if (!json) terminal.print('');
  const { plants } = await verifyPart(increment, json, terminal);
  demandBase(increment, base, found);
  terminal.note(
    `The backup ${file} is sound, and matches its manifest: ${plantsText(found.plants + plants)}, of which ${numberText(plants)} came with the increment.`,
    'good',
  );
}

/** Checks one file of a backup, and prints what it holds. @throws CommandError */
async function verifyPart(file: string, json: boolean, terminal: Terminal): Promise<BackupFigures> {
  const manifest = readManifest(file);
  const found = await inspectWhole(resolve(file), terminal.showProgress);
  terminal.showProgress('');
  if ('fault' in found) throw new CommandError(`${file} ${found.fault}`);
  printFigures(file, found, json, terminal);
  if (manifest === undefined) {
    throw new CommandError(
      `${file} is sound, but without ${manifestPath(file)} it is unknown whether the backup has changed`,
    );
  }
  const wrong = differences(manifest, found);
  if (wrong.length > 0)
    throw new CommandError(`${file} differs from its manifest: ${wrong.join(', ')}`);
  return found;
}
