import { join } from 'node:path';
import { numberText, plantsText } from '../quantity-text.ts';
import { shellQuoted } from '../store/command-text.ts';
import { engineOf } from '../store/engines.ts';
import type { StoreLocation } from '../store/location.ts';
import type { BackupInSeries } from './series.ts';

/** The command that adds the plants of a file to a store, also while services run. */
export function mergeCommand(file: string, location: StoreLocation): string {
  const source = shellQuoted(`sqlite:${file}`);
  return engineOf(location).command(`export --store ${source} | plant-store import -`);
}

/** How a backup has more plants than a store. A clause. */
export function countsText(
  { file, manifest }: Pick<BackupInSeries, 'file' | 'manifest'>,
  plants: number,
): string {
  return `${file} has ${plantsText(manifest?.plants ?? 0)}, and the store ${numberText(plants)}`;
}

/** Says that plants are lost, and the two ways out. @param backup has the plants */
export function lossText(
  location: StoreLocation,
  identity: string | undefined,
  folder: string,
  backup: Pick<BackupInSeries, 'file' | 'manifest'>,
  difference: string,
): string {
  const file = join(folder, backup.file);
  // A new store in the place of a lost one has none of its tokens.
  const isReplaced =
    engineOf(location).file !== undefined &&
    ![undefined, identity].includes(backup.manifest?.identity);
  const remedy = isReplaced
    ? `Stop the service, and type ${engineOf(location).command(`restore ${shellQuoted(file)} --overwrite`)}`
    : `Bring the plants back, also while services run, with ${mergeCommand(file, location)}, and ` +
      'make a backup';
  const decision = engineOf(location).command(`backup ${shellQuoted(folder)} --new-store yes`);
  return (
    `Plants are lost: ${difference}. ${remedy}. If these plants are not missed, say so once with ` +
    `${decision}.`
  );
}
