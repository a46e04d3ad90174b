import { createHash } from 'node:crypto';
import { isErrno, readSmallFileLater, UnfitFileError } from '../disk/files.ts';
import { limits } from '../limits.ts';
import type { StoreFigures } from '../store/inspection.ts';

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
  /** ISO 8601: see `nextInSeries`. Single files, and manifests of version 1.1, have none. */
  readonly seriesAt?: string;
  /** Of the program that made the backup. */
  readonly version: string;
}

export const manifestEnding = '.manifest.json';

export function manifestPath(backup: string): string {
  return `${backup}${manifestEnding}`;
}

/** With a checksum over all its members. */
export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify({ ...manifest, checksum: checksum(manifest) }, null, 2)}\n`;
}

/** @returns undefined without a manifest. @throws errors of the file system */
export async function readManifest(backup: string): Promise<Manifest | 'damaged' | undefined> {
  try {
    const text = await readSmallFileLater(manifestPath(backup), limits.cli.manifestBytesMax);
    const { checksum: written, ...manifest } = Object(JSON.parse(text));
    return written === checksum(manifest) ? manifest : 'damaged';
  } catch (error) {
    if (error instanceof UnfitFileError || error instanceof SyntaxError) return 'damaged';
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function checksum(manifest: object): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex');
}

/** Differences between a backup and its manifest, such as `plants 3 (found 2)`. */
export function differences(manifest: Manifest, found: BackupFigures): string[] {
  return Object.entries(found)
    .filter(([name, value]) => manifest[name as keyof BackupFigures] !== value)
    .map(([name, value]) => `${name} ${manifest[name as keyof BackupFigures]} (found ${value})`);
}
