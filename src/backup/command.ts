import { resolve } from 'node:path';
import { command } from '../cli/command.ts';
import { retentionText } from '../cli/flags/values.ts';
import { printFigures } from '../cli/terminal/figures.ts';
import { plantsText, sizeText } from '../quantity-text.ts';
import { backUpTo } from './make.ts';
import { manifestPath } from './manifest.ts';

export const backup = command({
  positionals: ['DEST'],
  summary:
    'Copy the store to a file or into a folder, and check the copy. Services may run on the store.',
  need: 'Use it every night, and before each upgrade.',
  flags: ['store', 'keep', 'new-store', 'json'],
  examples: [
    'plant-store backup /var/backups/plants.db',
    'plant-store backup /var/backups --store sqlite:/var/lib/plant-store/plants.db',
    'plant-store backup /var/backups --keep 24h:1h,30d:1d,1y:1w',
  ],
  async run({ values, settings, positionals: [destination = ''] }, terminal) {
    const { store, keep, json } = values;
    // A variable that stays set would accept each later loss.
    const isTyped = settings.some(({ name, source }) => name === 'new-store' && source === 'flag');
    const choices = { keep, isNewStore: isTyped && values['new-store'] === 'yes' };
    const made = await backUpTo(resolve(destination), choices, store, terminal);
    // The lists of the manifest are for the next backup.
    const { file, holds: _, lacks: _lacks, givenUp: _givenUp, ...figures } = made;
    printFigures({ file }, figures, json, terminal);
    terminal.note(
      `The backup is sound: ${plantsText(figures.plants)}, ${sizeText(figures.bytes)}. It is ` +
        `${file}, and its manifest ${manifestPath(file)}.`,
    );
    if (figures.warning !== undefined) terminal.note(figures.warning, 'warning');
    // News, also if the removed backup was made a minute ago.
    if (keep && figures.removed)
      terminal.note(`Older backups removed by --keep ${retentionText(keep)}: ${figures.removed}.`);
    return 0;
  },
});
