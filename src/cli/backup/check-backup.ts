import { statSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { startPace } from '../../store/pace.ts';
import { CommandError, type Terminal } from '../command.ts';
import { demandBase } from './assemble-backup.ts';
import {
  differences,
  hashFile,
  inspectWhole,
  type Manifest,
  manifestPath,
  readManifest,
} from './manifest.ts';
import { demandParts } from './parts.ts';

/**
 * Checks that no byte of a backup has changed since it was made, at a pace that leaves the machine to
 * a service.
 *
 * @returns the files of the backup
 * @throws CommandError
 */
export async function checkBackup(backup: string, terminal: Terminal): Promise<readonly string[]> {
  demandFile(backup);
  const parts = demandParts(backup);
  const [base = backup, increment] = parts;
  const manifest = await demandUnchanged(base, terminal);
  if (increment !== undefined) {
    await demandUnchanged(increment, terminal);
    demandBase(increment, base, manifest);
  }
  return parts;
}

function demandFile(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFile()) return;
  throw new CommandError(`there is no backup ${path}`);
}

async function demandUnchanged(file: string, { showProgress }: Terminal): Promise<Manifest> {
  const manifest = readManifest(file);
  if (manifest === undefined)
    throw new CommandError(
      `it is unknown whether the backup ${file} has changed, because there is no ${manifestPath(file)}; use another backup`,
    );
  showProgress(`reading ${file}`);
  const pace = startPace();
  const { bytes, sha256 } = await hashFile(file, async (workedMs) => {
    const pauseMs = pace(workedMs);
    if (pauseMs > 0) await setTimeout(pauseMs);
  });
  if (bytes === manifest.bytes && sha256 === manifest.sha256) return manifest;
  throw new CommandError(
    `the backup ${file} ${await faultOf(file, manifest, showProgress)}; use another backup`,
  );
}

/** What is wrong with a backup whose bytes have changed. */
async function faultOf(
  file: string,
  manifest: Manifest,
  showProgress: Terminal['showProgress'],
): Promise<string> {
  const found = await inspectWhole(file, showProgress);
  if ('fault' in found) return found.fault;
  return `differs from its manifest: ${differences(manifest, found).join(', ')}`;
}
