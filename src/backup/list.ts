import { setTimeout as delay } from 'node:timers/promises';
import { isSystemError } from '../disk/files.ts';
import { limits } from '../limits.ts';
import type { BackupList, ListedBackup } from '../ops/contract.ts';
import { reused } from '../ops/loading.ts';
import { type BackupInSeries, listSeries } from './series.ts';

type FoundBackups = Pick<BackupList, 'backups' | 'leftOut' | 'fault'>;

/** Does not block the thread, also if the folder is on a network drive that does not answer. */
export function openBackupFolder(folder: string, store: string) {
  async function read(): Promise<FoundBackups> {
    try {
      const newestFirst = (await listSeries(folder, store)).reverse();
      const backups = newestFirst.slice(0, limits.ops.backupsShown).map(entryOf);
      return { backups, leftOut: newestFirst.length - backups.length, fault: null };
    } catch (error) {
      if (!isSystemError(error)) throw error;
      return nothing(`the folder cannot be read (${error.message})`);
    }
  }

  const readAgain = () => reused(read, limits.ops.backupsEveryMs);
  let recent = readAgain();
  return {
    /** @returns what was found in the last `limits.ops.backupsEveryMs` */
    look(): Promise<FoundBackups> {
      const late = nothing('the folder does not answer');
      return Promise.race([recent(), delay(limits.ops.backupsMs, late, { ref: false })]);
    },
    forget(): void {
      recent = readAgain();
    },
  };
}

function nothing(fault: string): FoundBackups {
  return { backups: [], leftOut: 0, fault };
}

function entryOf({ file, at, manifest }: BackupInSeries): ListedBackup {
  const { createdAt = at.toISOString(), plants = null, bytes = null } = manifest ?? {};
  return { file, createdAt, plants, bytes, fault: manifest ? null : 'the manifest is damaged' };
}
