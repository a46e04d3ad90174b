import type { BackupList, RunningBackup } from './contract.ts';

/** The backups of a service with `--backup-to`. */
export interface BackupDesk {
  show(): Promise<BackupList>;
  /** Begins a backup for the operator. @returns undefined beside another one */
  backUp(operator: string): RunningBackup | undefined;
}
