import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isSystemError, readSmallFileLater, UnfitFileError } from '../../disk/files.ts';
import { limits } from '../../limits.ts';

/** The last check of a backup after it was made. */
export interface BackupCheck {
  /** ISO 8601. */
  readonly checkedAt: string;
  /** Null: the backup is sound. */
  readonly fault: string | null;
}

/** By the name of the backup. */
export type BackupChecks = Readonly<Record<string, BackupCheck>>;

function checksPath(folder: string, store: string): string {
  return join(folder, `.${store}.checks.json`);
}

/** @returns no checks if the file is missing or damaged: it only says what is known */
export async function readChecks(folder: string, store: string): Promise<BackupChecks> {
  try {
    const path = checksPath(folder, store);
    const { content } = await readSmallFileLater(path, limits.backup.checksBytesMax);
    return Object(JSON.parse(content.toString()));
  } catch (error) {
    const isExpected =
      isSystemError(error) || error instanceof UnfitFileError || error instanceof SyntaxError;
    if (!isExpected) throw error;
    return {};
  }
}

/**
 * Adds a check, and forgets those of backups that are gone. The file is written under another name
 * first, so that no reader gets a part of the file.
 *
 * @param listed the backups in the folder
 * @throws errors of the file system
 */
export async function recordCheck(
  folder: string,
  store: string,
  listed: ReadonlySet<string>,
  file: string,
  { checkedAt, fault }: BackupCheck,
): Promise<void> {
  const known = Object.entries(await readChecks(folder, store));
  const checks = Object.fromEntries([
    ...known.filter(([name]) => listed.has(name)),
    [file, { checkedAt, fault: fault?.slice(0, limits.backup.checkFaultCharsMax) ?? null }],
  ]);
  const path = checksPath(folder, store);
  await writeFile(`${path}.unfinished`, JSON.stringify(checks, null, 2), { mode: 0o600 });
  await rename(`${path}.unfinished`, path);
}
