import { resolve } from 'node:path';
import { manifestPath } from '../../backup/manifest.ts';
import { retentionText } from '../../config/values.ts';
import { sizeText } from '../../quantity-text.ts';
import { command } from '../command.ts';
import { printFigures } from '../terminal/figures.ts';
import { plantsText } from '../terminal/progress.ts';
import { backUpIntoFolder, backUpTo } from './make.ts';

export const backup = command({
  positionals: ['DEST'],
  summary:
    'Copy the store to a file or into a folder, and check the copy. Services may run on the store.',
  need: 'Use it every night, and before each upgrade.',
  flags: ['store', 'keep', 'json'],
  examples: [
    'plant-store backup /var/backups/plants.db',
    'plant-store backup /var/backups --store sqlite:/var/lib/plant-store/plants.db',
    'plant-store backup /var/backups --keep 24h:1h,30d:1d,1y:1w',
  ],
  async run({ values: { store, keep, json }, positionals: [destination = ''] }, terminal) {
    const path = resolve(destination);
    const { file, ...figures } = await (keep === undefined
      ? backUpTo(path, store, terminal)
      : backUpIntoFolder(path, keep, store, terminal));
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
