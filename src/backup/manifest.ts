import { createHash } from 'node:crypto';
import { isErrno, readSmallFileLater, UnfitFileError } from '../disk/files.ts';
import { limits } from '../limits.ts';
import type { StoreFigures } from '../store/inspection.ts';
import { manifestEnding } from '../store/location.ts';

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
  /** As in `Origin`. Manifests of version 2.0 and earlier have none. */
  readonly place?: string;
  /** Earlier backups of its series that it holds with all their plants, by `holdingKey`. */
  readonly holds?: readonly string[];
  /** Names of earlier backups of its series with plants that it lacks. */
  readonly lacks?: readonly string[];
  /** Those of `lacks` whose plants an operator has given up. */
  readonly givenUp?: readonly string[];
  /** `StoreIdentity.decidedAtMs` in ISO 8601. */
  readonly decidedAt?: string;
}

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
    const { text } = await readSmallFileLater(manifestPath(backup), limits.backup.manifestBytesMax);
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

/** Tells the plants of a backup from those of any other, whatever the names of the files. */
export function holdingKey({ digest }: Pick<Manifest, 'digest'>): string {
  return digest.slice(0, 32);
}

/** Differences between a backup and its manifest, such as `plants 3 (found 2)`. */
export function differences(manifest: Manifest, found: BackupFigures): string[] {
  return Object.entries(found)
    .filter(([name, value]) => manifest[name as keyof BackupFigures] !== value)
    .map(([name, value]) => `${name} ${manifest[name as keyof BackupFigures]} (found ${value})`);
}
