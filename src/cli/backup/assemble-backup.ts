import { createReadStream, createWriteStream, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { shortOfSpace } from '../../disk/file-system.ts';
import { limits } from '../../limits.ts';
import { fileLocation } from '../../store/location.ts';
import { sqliteEngine } from '../../stores.ts';
import { CommandError, type Terminal } from '../command.ts';
import {
  type BackupFigures,
  demandSound,
  inspectWhole,
  manifestPath,
  readManifest,
} from './manifest.ts';
import { demandParts } from './parts.ts';

/**
 * Makes one checked file of a backup, an increment together with its full backup.
 *
 * @param copy a new file in an existing folder
 * @throws CommandError, StoreError; errors of the file system
 */
export async function assembleBackup(
  source: string,
  copy: string,
  terminal: Terminal,
): Promise<BackupFigures> {
  const parts = demandParts(source);
  const bytes = parts.reduce((sum, part) => sum + statSync(part).size, 0);
  const tooFull = shortOfSpace(dirname(copy), bytes);
  if (tooFull !== undefined) throw new CommandError(tooFull);
  const [base = source, increment] = parts;
  terminal.showProgress('copying');
  await copyFileDurably(base, copy);
  const found = await demandSound(base, copy, terminal);
  return increment === undefined ? found : add(increment, base, found, copy, terminal);
}

async function add(
  increment: string,
  base: string,
  found: BackupFigures,
  copy: string,
  terminal: Terminal,
): Promise<BackupFigures> {
  const { plants } = await demandSound(increment, increment, terminal);
  demandBase(increment, base, found);
  terminal.showProgress(`adding ${plants} plants`);
  await sqliteEngine(fileLocation(copy)).addIncrement(increment);
  const whole = await inspectWhole(copy, terminal.showProgress);
  if ('fault' in whole) throw new CommandError(`the restored copy ${whole.fault}`);
  if (whole.plants === found.plants + plants) return whole;
  throw new CommandError(
    `${increment} and ${base} have ${plants} and ${found.plants} plants, and together ${whole.plants}; nothing has been restored`,
  );
}

/** @throws CommandError if the increment was made for another file of the same name */
export function demandBase(increment: string, base: string, { sha256 }: BackupFigures): void {
  const manifest = readManifest(increment);
  if (manifest === undefined)
    throw new CommandError(
      `without ${manifestPath(increment)} it is unknown whether ${increment} belongs to ${base}; use another backup`,
    );
  if (manifest.baseSha256 === sha256) return;
  throw new CommandError(`${increment} belongs to another file than ${base}; use another backup`);
}

/** Copies a file to a new file with mode 0600, durably. */
async function copyFileDurably(source: string, path: string): Promise<void> {
  const { chunkBytes: highWaterMark } = limits.disk;
  await pipeline(
    createReadStream(source, { highWaterMark }),
    createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true, highWaterMark }),
  );
}
