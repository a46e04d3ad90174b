import { createHash } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CommandError, type Terminal } from '../cli/command.ts';
import { limits } from '../limits.ts';
import { numberText, plantsText } from '../quantity-text.ts';
import { engineOf, sqliteEngine } from '../store/engines.ts';
import type { StoreFault } from '../store/inspection.ts';
import { fileLocation, type StoreLocation } from '../store/location.ts';
import { type CopyCounts, comparePlants } from '../transfer/copy-plants.ts';
import { idsOf } from '../transfer/store-copy.ts';
import {
  type BackupFigures,
  differences,
  type Manifest,
  manifestPath,
  readManifest,
} from './manifest.ts';
import type { BackupInSeries } from './series.ts';

export async function inspectBackup(
  backup: string,
  { showProgress }: Terminal,
): Promise<BackupFigures | StoreFault> {
  const figures = await sqliteEngine(fileLocation(backup)).inspectBackup(showProgress);
  return 'fault' in figures ? figures : { ...figures, ...(await hashFile(backup)) };
}

async function hashFile(path: string): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: limits.disk.chunkBytes })) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: hash.digest('hex') };
}

/** Compares a backup, or a copy of it, with its manifest. @throws CommandError */
export async function demandSound(
  source: string,
  copy: string,
  terminal: Terminal,
): Promise<{ readonly figures: BackupFigures; readonly manifest: Manifest | undefined }> {
  const manifest = await readManifest(source);
  if (manifest === 'damaged')
    throw new CommandError(
      `the manifest ${manifestPath(source)} is damaged; use another copy of the backup`,
    );
  const figures = await inspectBackup(copy, terminal);
  terminal.showProgress('');
  if ('fault' in figures) throw new CommandError(`${source} ${figures.fault}`);
  const wrong = manifest === undefined ? [] : differences(manifest, figures);
  if (wrong.length === 0) return { figures, manifest };
  throw new CommandError(`${source} differs from its manifest: ${wrong.join(', ')}`);
}

/** Why a backup is not sound. @returns undefined for a sound one */
export function faultOf(path: string, terminal: Terminal): Promise<string | undefined> {
  return demandSound(path, path, terminal).then(
    () => undefined,
    ({ message }: Error) => message,
  );
}

export function demandBackup(path: string, purpose: string): void {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile())
    throw new CommandError(`there is no file ${path} to ${purpose}`);
  // A backup is not in WAL mode, and has no WAL. A reader of a stopped store leaves an empty one.
  if (!statSync(`${path}-wal`, { throwIfNoEntry: false })?.size) return;
  throw new CommandError(
    `${path} is a store and not a backup, because plants may be in ${path}-wal; make a backup ` +
      `with ${engineOf(fileLocation(path)).command('backup DEST')}`,
  );
}

/** Compares each plant of a backup with that of the store, also while services write. */
export async function compareWithBackup(
  backup: string,
  total: number,
  location: StoreLocation,
  terminal: Terminal,
): Promise<CopyCounts> {
  await using reader = await engineOf(fileLocation(resolve(backup))).openReader(limits.cli.readMs);
  await using snapshot = await reader.openSnapshot();
  await using store = await engineOf(location).openReader(limits.cli.readMs);
  const found = await comparePlants(snapshot, store, (done) =>
    terminal.showProgress('comparing', { done, total, unit: 'plants' }),
  );
  terminal.showProgress('');
  return found;
}

/** As `compareWithBackup`, of a backup in a folder. @returns the error if one cannot be read */
export function compareInFolder(
  folder: string,
  { file, manifest }: Pick<BackupInSeries, 'file' | 'manifest'>,
  location: StoreLocation,
  terminal: Terminal,
): Promise<CopyCounts | Error> {
  const [path, total] = [join(folder, file), manifest?.plants ?? 0];
  return compareWithBackup(path, total, location, terminal).catch((error: Error) => error);
}

export function holdsAll({ taken, lacking }: CopyCounts): boolean {
  return taken.count + lacking.count === 0;
}

/** What a store has changed and lost of a backup. The text is a clause. */
export function differenceText(
  { same, taken, lacking }: CopyCounts,
  backup: string,
  location: StoreLocation,
): string {
  const counts = Object.entries({ changed: taken, missing: lacking })
    .filter(([, { count }]) => count > 0)
    .map(([name, some]) => `${numberText(some.count)} ${name} (${idsOf(some)})`);
  const plants = same + taken.count + lacking.count;
  return (
    `of the ${plantsText(plants)} in ${backup}, the store at ` +
    `${engineOf(location).name} has ${counts.join(', and ')}`
  );
}
