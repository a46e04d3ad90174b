import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isSystemError, readSmallFileLater, UnfitFileError } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import type { ListedBackup } from '../../ops/contract.ts';
import { reused } from '../../reused.ts';
import { type BackupChecks, readChecks } from '../backup/backup-checks.ts';
import { type BackupName, formatBackupName, parseBackupName } from '../backup/backup-name.ts';
import { type Manifest, manifestPath, parseManifest } from '../backup/manifest.ts';
import { byAge } from '../backup/parts.ts';

/** What was found in a folder of backups. */
interface FoundBackups {
  /** Newest first. */
  readonly backups: readonly ListedBackup[];
  readonly leftOut: number;
  /** Why the folder cannot be read. */
  readonly fault: string | null;
  /** SHA-256 of the backups, in hex, by file. */
  readonly sha256s: ReadonlyMap<string, string | undefined>;
}

/**
 * Lists the backups of a store in a folder without blocking the thread, also if the folder is on a
 * network drive that does not answer. All callers share one look at a time.
 */
export interface BackupFolder {
  /** @returns what was found in the last `limits.ops.backupsEveryMs` */
  look(): Promise<FoundBackups>;
  /** Makes the next call of `look` look again. */
  forget(): void;
}

interface Named extends BackupName {
  readonly file: string;
  readonly base: string | null;
}

interface Found extends Named {
  /** Undefined if it is damaged. */
  readonly manifest: Manifest | undefined;
}

export function openBackupFolder(folder: string, store: string): BackupFolder {
  /** A manifest never changes. */
  let manifests: ReadonlyMap<string, Manifest> = new Map();

  async function read(): Promise<FoundBackups> {
    const checks = await readChecks(folder, store);
    const found: Found[] = [];
    for (const name of namesIn(await readdir(folder), store)) {
      const manifest = manifests.get(name.file) ?? (await manifestOf(join(folder, name.file)));
      // Without a manifest, the backup was removed meanwhile.
      if (manifest !== undefined) found.push({ ...name, manifest: manifest || undefined });
    }
    manifests = new Map(
      found.flatMap(({ file, manifest }) => (manifest ? [[file, manifest]] : [])),
    );
    const newestFirst = found.toSorted((one, other) => byAge(other, one));
    const shown = newestFirst.slice(0, limits.ops.backupsShown);
    const backups = shown.map((one) => entryOf(one, checks));
    const sha256s = new Map(shown.map(({ file, manifest }) => [file, manifest?.sha256] as const));
    return { backups, leftOut: found.length - shown.length, fault: null, sha256s };
  }

  function readNow(): Promise<FoundBackups> {
    return read().catch((error) => {
      if (!isSystemError(error)) throw error;
      return nothing(`the folder cannot be read (${error.message})`);
    });
  }

  const readAgain = () => reused(readNow, { forMs: limits.ops.backupsEveryMs });
  let recent = readAgain();
  return {
    async look() {
      const late = Promise.withResolvers<FoundBackups>();
      const timer = setTimeout(
        () => late.resolve(nothing('the folder does not answer')),
        limits.ops.backupsMs,
      );
      return Promise.race([recent(), late.promise]).finally(() => clearTimeout(timer));
    },
    forget() {
      recent = readAgain();
    },
  };
}

function nothing(fault: string): FoundBackups {
  return { backups: [], leftOut: 0, fault, sha256s: new Map() };
}

/** The backups that have all their files. */
function namesIn(files: readonly string[], store: string): Named[] {
  const all = new Set(files);
  const isThere = (file: string | null) =>
    file === null || (all.has(file) && all.has(manifestPath(file)));
  return files
    .flatMap((file): Named[] => {
      const name = parseBackupName(file);
      return name?.store === store ? [{ ...name, file, base: baseOf(name) }] : [];
    })
    .filter(({ file, base }) => isThere(file) && isThere(base));
}

function baseOf({ store, since }: BackupName): string | null {
  return since === undefined ? null : formatBackupName({ store, at: since });
}

/** @returns undefined without a manifest, false for a damaged one */
async function manifestOf(backup: string): Promise<Manifest | false | undefined> {
  try {
    const path = manifestPath(backup);
    const { content } = await readSmallFileLater(path, limits.cli.manifestBytesMax);
    return parseManifest(content.toString()) ?? false;
  } catch (error) {
    if (error instanceof UnfitFileError) return false;
    if (isSystemError(error) && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function entryOf({ file, base, at, manifest }: Found, checks: BackupChecks): ListedBackup {
  if (manifest === undefined) {
    const times = { createdAt: at.toISOString(), checkedAt: new Date().toISOString() };
    return { file, base, ...times, plants: null, bytes: null, fault: 'the manifest is damaged' };
  }
  const { createdAt, plants, allPlants = plants, bytes } = manifest;
  const made = { checkedAt: manifest.checkedAt ?? createdAt, fault: null };
  const { checkedAt, fault } = checks[file] ?? made;
  return { file, base, createdAt, plants: allPlants, bytes, checkedAt, fault };
}
