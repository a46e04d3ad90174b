import { join } from 'node:path';
import { shellQuoted } from '../store/command-text.ts';
import type { StoreLocation } from '../store/location.ts';
import { commandFor, engineOf } from '../stores.ts';
import type { BackupInSeries } from './series.ts';

/**
 * Says that a store has lost plants, and the two ways out, each as a line to type.
 *
 * @param backup has the plants
 * @param identity of the store
 * @param difference a clause
 */
export function lossText(
  location: StoreLocation,
  identity: string | undefined,
  folder: string,
  backup: Pick<BackupInSeries, 'file' | 'manifest'>,
  difference: string,
): string {
  const file = join(folder, backup.file);
  const { file: isFile, wholeText } = engineOf(location);
  // A new store in the place of a lost one has none of its tokens.
  const isReplaced =
    isFile !== undefined && ![undefined, identity].includes(backup.manifest?.identity);
  const remedy = isReplaced
    ? `Stop the service, and type ${commandFor(location, `restore ${shellQuoted(file)} --overwrite`)}`
    : `Bring the plants back, also while services run, with "plant-store export --store ` +
      `${shellQuoted(`sqlite:${file}`)} | plant-store import - --store ${shellQuoted(wholeText)}", and make a backup`;
  const decision = commandFor(location, `backup ${shellQuoted(folder)} --new-store yes`);
  return (
    `Plants are lost: ${difference}. ${remedy}. If these plants are not missed, say so once with ` +
    `${decision}.`
  );
}
