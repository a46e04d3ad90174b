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
  /** The newest record; undefined if there is none. */
  lastBackup(): Promise<BackupRecord | undefined>;
}

export interface BackupWriter {
  /** The newest `limits.store.backupsRecorded` records are kept. */
  recordBackup(backup: BackupRecord): Promise<void>;
}
