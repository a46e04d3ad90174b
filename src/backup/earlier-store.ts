import { join, resolve } from 'node:path';
import { CommandError } from '../cli/command.ts';
import type { Values } from '../cli/flags/flags.ts';
import { isSystemError } from '../disk/files.ts';
import { plantsText } from '../quantity-text.ts';
import { shellQuoted } from '../store/command-text.ts';
import { engineOf } from '../store/engines.ts';
import type { StoreLocation } from '../store/location.ts';
import { backupsOf } from './lineage.ts';
import { placeOf } from './origin.ts';
import { type BackupInSeries, listBackups } from './series.ts';

/** Called where there is no store. @throws CommandError if none is to be made */
export async function prepareNewStore({
  store,
  'new-store': choice,
  'backup-to': backups,
}: Values<'store' | 'new-store' | 'backup-to'>): Promise<void> {
  const { name, setRemnantsAside } = engineOf(store);
  if (choice === 'yes') return setRemnantsAside();
  const found = await earlierStore(store, backups);
  if (choice === 'never' && found === undefined)
    throw new CommandError(
      `there is no store at ${name}, and --new-store never makes none; mount its disk, or make ` +
        'the first store with --new-store auto',
    );
  if (found === undefined) return;
  throw new CommandError(
    `${found.says}; ${found.remedy}; or begin with an empty store, once: --new-store yes`,
  );
}

/** Tells that a store was there, and how to bring it back: two clauses. @param backups a folder */
export async function earlierStore(
  location: StoreLocation,
  backups: string | undefined,
): Promise<{ readonly says: string; readonly remedy: string } | undefined> {
  const { name, file, url, remnants } = engineOf(location);
  const beside = await remnants();
  const inBackups = backups === undefined ? [] : await backupIn(resolve(backups), location);
  const found = [...inBackups, ...beside.map(({ says }) => says)];
  if (found.length === 0) return undefined;
  const source = inBackups.length === 0 ? 'BACKUP' : shellQuoted(resolve(`${backups}`));
  // It is newer than any backup.
  const [saved] = beside.flatMap((remnant) => remnant.saved ?? []);
  const copy = `"plant-store copy ${shellQuoted(`sqlite:${saved}`)} ${shellQuoted(url)}"`;
  const check = file ? 'mount its disk if it is not mounted' : 'check the URL of the database';
  return {
    says: `there is no store at ${name}, and there was one: ${found.join('; ')}`,
    remedy: `${check}, or bring the store back with ${saved ? copy : engineOf(location).command(`restore ${source}`)}`,
  };
}

/** A disk of backups that is away tells nothing, and keeps no service from its start. */
async function backupIn(folder: string, location: StoreLocation): Promise<string[]> {
  const all = await listBackups(folder).catch((error) => {
    if (!isSystemError(error)) throw error;
    return [];
  });
  const plantsIn = ({ manifest }: BackupInSeries) => manifest?.plants ?? 0;
  const [fullest] = backupsOf(placeOf(location), all).toSorted(
    (one, other) => plantsIn(other) - plantsIn(one),
  );
  if (fullest === undefined || plantsIn(fullest) === 0) return [];
  return [`${join(folder, fullest.file)} is a backup of it with ${plantsText(plantsIn(fullest))}`];
}
