import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Manifest, manifestPath } from '../../backup/manifest.ts';
import { formatBackupName } from '../../backup/series.ts';
import { retentionText } from '../../config/values.ts';
import { sizeText } from '../../quantity-text.ts';
import type { StoreLocation } from '../../store/location.ts';
import { engineOf } from '../../stores.ts';
import { command, type Terminal } from '../command.ts';
import { printFigures } from '../terminal/figures.ts';
import { plantsText } from '../terminal/progress.ts';
import { backUpIntoFolder, makeBackup, recordBackup, refuseTakenName } from './make.ts';

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
    if (keep !== undefined) {
      const { file, ...figures } = await backUpIntoFolder(path, keep, store, terminal);
      printFigures({ file }, figures, json, terminal);
      noteBackup(file, figures, terminal);
      if (figures.warning !== undefined) terminal.note(figures.warning, 'warning');
      // News, also if the removed backup was made a minute ago.
      if (figures.removed > 0)
        terminal.note(
          `Older backups removed by --keep ${retentionText(keep)}: ${figures.removed}.`,
        );
      return 0;
    }
    const startedAt = new Date();
    const file = backupPath(path, store, startedAt);
    refuseTakenName(file, store);
    const manifest = await makeBackup(store, file, startedAt, terminal);
    await recordBackup(store, file, manifest, terminal);
    printFigures({ file }, manifest, json, terminal);
    noteBackup(file, manifest, terminal);
    return 0;
  },
});

function noteBackup(file: string, { plants, bytes }: Manifest, terminal: Terminal): void {
  terminal.note(
    `The backup is sound: ${plantsText(plants)}, ${sizeText(bytes)}. It is ${file}, and ` +
      `its manifest ${manifestPath(file)}.`,
  );
}

function backupPath(destination: string, store: StoreLocation, at: Date): string {
  if (!statSync(destination, { throwIfNoEntry: false })?.isDirectory()) return destination;
  return join(destination, formatBackupName({ store: engineOf(store).backupName, at }));
}
