import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { readSmallFile, UnfitFileError } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import type { OnProgress, StoreFault, StoreFigures } from '../../store/inspection.ts';
import { fileLocation } from '../../store/location.ts';
import { sqliteEngine } from '../../stores.ts';
import { CommandError, type Terminal } from '../command.ts';

/** The content of a backup, and its file. */
export interface BackupFigures extends StoreFigures {
  readonly bytes: number;
  readonly sha256: string;
}

/** A file beside a backup, which shows later whether the backup has changed. */
export interface Manifest extends BackupFigures {
  /** ISO 8601. The backup has every plant that was acknowledged before. */
  readonly createdAt: string;
  /** ISO 8601: when the file was found sound. Manifests of version 1.1 and earlier lack it. */
  readonly checkedAt?: string;
  /** ISO 8601: see `nextInSeries`. Manifests of version 1.1 and earlier, and of single files, lack it. */
  readonly seriesAt?: string;
  /** Of the program that made the backup. */
  readonly version: string;
  /** Only of an increment: the file of its full backup, which is in the same folder. */
  readonly base?: string;
  /** Only of an increment: SHA-256 of the full backup. */
  readonly baseSha256?: string;
  /** Only of an increment: the plants of the full backup and the increment. */
  readonly allPlants?: number;
}

export const manifestEnding = '.manifest.json';

export function manifestPath(backup: string): string {
  return `${backup}${manifestEnding}`;
}

/** With a checksum over all its members. */
export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify({ ...manifest, checksum: checksum(manifest) }, null, 2)}\n`;
}

/** @returns undefined without a manifest. @throws CommandError for a damaged manifest */
export function readManifest(backup: string): Manifest | undefined {
  const path = manifestPath(backup);
  if (!existsSync(path)) return undefined;
  const manifest = parseManifest(readManifestText(path));
  if (manifest !== undefined) return manifest;
  throw new CommandError(`the manifest ${path} is damaged; use another copy of the backup`);
}

/** @returns undefined without a manifest, and for a damaged one */
export function readManifestIfSound(backup: string): Manifest | undefined {
  try {
    return readManifest(backup);
  } catch (error) {
    if (error instanceof CommandError) return undefined;
    throw error;
  }
}

/** @returns undefined for the text of a damaged manifest */
export function parseManifest(text: string): Manifest | undefined {
  const { checksum: written, ...manifest } = parsed(text);
  return written === checksum(manifest) ? (manifest as unknown as Manifest) : undefined;
}

/** @throws CommandError for a damaged or missing manifest */
export function demandManifest(backup: string): Manifest {
  const manifest = readManifest(backup);
  if (manifest !== undefined) return manifest;
  throw new CommandError(
    `without ${manifestPath(backup)} it is unknown whether ${backup} has changed`,
  );
}

function readManifestText(path: string): string {
  try {
    return readSmallFile(path, limits.cli.manifestBytesMax);
  } catch (error) {
    throw error instanceof UnfitFileError
      ? new CommandError(`the manifest ${error.message}`, { cause: error })
      : error;
  }
}

function parsed(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text));
  } catch {
    // The missing checksum is reported.
    return {};
  }
}

function checksum(manifest: object): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex');
}

/** Reads a backup from its first byte to its last. */
export async function inspectWhole(
  backup: string,
  onProgress: OnProgress,
): Promise<BackupFigures | StoreFault> {
  const figures = await sqliteEngine(fileLocation(backup)).inspectBackup(onProgress);
  return 'fault' in figures ? figures : { ...figures, ...(await hashFile(backup)) };
}

/** @param rest called with the duration of each step */
export async function hashFile(
  path: string,
  rest?: (workedMs: number) => Promise<unknown>,
): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: limits.disk.chunkBytes })) {
    const startedMs = performance.now();
    hash.update(chunk);
    bytes += chunk.length;
    await rest?.(performance.now() - startedMs);
  }
  return { bytes, sha256: hash.digest('hex') };
}

/**
 * Checks a backup against its manifest.
 *
 * @param copy of the backup, or the backup itself
 * @throws CommandError
 */
export async function demandSound(
  source: string,
  copy: string,
  terminal: Terminal,
): Promise<BackupFigures> {
  const manifest = readManifest(source);
  const found = await inspectWhole(copy, terminal.showProgress);
  if ('fault' in found)
    throw new CommandError(`${source} ${found.fault}; nothing has been restored`);
  const wrong = manifest === undefined ? [] : differences(manifest, found);
  if (wrong.length > 0)
    throw new CommandError(
      `${source} differs from its manifest: ${wrong.join(', ')}; nothing has been restored`,
    );
  terminal.showProgress('');
  if (manifest === undefined)
    terminal.note(`${source} has no manifest, and was only checked for damage.`);
  return found;
}

/** Differences between a backup and its manifest, such as `plants 3 (found 2)`. */
export function differences(manifest: Manifest, found: BackupFigures): string[] {
  return Object.entries(found)
    .filter(([name, value]) => manifest[name as keyof BackupFigures] !== value)
    .map(([name, value]) => `${name} ${manifest[name as keyof BackupFigures]} (found ${value})`);
}

export function printFigures(
  file: string,
  figures: StoreFigures &
    Partial<Manifest> & { readonly replaced?: string; readonly warning?: string },
  json: boolean,
  { print }: Terminal,
): void {
  if (json) print(JSON.stringify({ file, ...figures }));
  else
    for (const [name, value] of Object.entries(figures))
      print(`${name.padEnd('schemaVersion'.length)}  ${value ?? 'none'}`);
}
