import { join } from 'node:path';
import { shellQuoted } from '../store/command-text.ts';
import type { StoreLocation } from '../store/location.ts';
import { commandFor, engineOf } from '../stores.ts';

/** Says that a store has lost plants, and the two ways out, each as a line to type. */
export function lossText(
  location: StoreLocation,
  folder: string,
  file: string,
  difference: string,
): string {
  const backup = shellQuoted(join(folder, file));
  const remedy =
    engineOf(location).file === undefined
      ? `Bring the plants back with "plant-store copy --from ${backup} --to ` +
        `${shellQuoted(engineOf(location).wholeText)}"`
      : `Stop the service, and restore the backup with ` +
        `${commandFor(location, `restore ${backup} --overwrite`)}`;
  const decision = commandFor(location, `backup ${shellQuoted(folder)} --new-store yes`);
  return (
    `Plants are lost: ${difference}. ${remedy}. If these plants are not missed, say so once with ` +
    `${decision}.`
  );
}
