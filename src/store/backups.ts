/** A backup that was checked when it was made. */
export interface BackupRecord {
  readonly file: string;
  /** Milliseconds since the epoch. */
  readonly finishedAtMs: number;
  readonly plants: number;
  /** As in `PlantFigures`. */
  readonly digest: string;
}

export interface BackupReader {
  /** Newest first. */
  listBackups(): Promise<readonly BackupRecord[]>;
}

export interface BackupWriter {
  /** The newest `limits.store.backupsRecorded` records are kept. */
  recordBackup(backup: BackupRecord): Promise<void>;
}
