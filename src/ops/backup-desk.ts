import type { BackupList, LastRun, RunningBackup } from './contract.ts';

/** The backups of a service with `--backup-to`. */
export interface BackupDesk {
  show(): Promise<BackupList>;
  /** Null: this service has made no backup. */
  last(): LastRun | null;
  /** Begins a backup for the operator. @returns undefined beside another one */
  backUp(operator: string): RunningBackup | undefined;
}
