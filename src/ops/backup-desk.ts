import type { JobRecord } from '../store/jobs.ts';
import type { BackupList, RunningJob } from './contract.ts';

/** A file of the folder of backups, opened. */
export interface BackupFile {
  /** In hex; undefined for a manifest. */
  readonly sha256: string | undefined;
  /** Reads the file as it is read, and closes the file at its end or with `cancel`. */
  readonly body: ReadableStream<Uint8Array>;
}

/** The backups of a service with `--backup-to`: what there is, and the jobs that run. */
export interface BackupDesk {
  /** @param records what the store knows of the jobs */
  show(records: readonly JobRecord[]): Promise<BackupList>;
  /** Begins a backup for the operator. @returns undefined beside another job */
  backUp(operator: string): RunningJob | undefined;
  /** Begins a check of a backup in the list. @returns undefined beside another job */
  verify(file: string, operator: string): Promise<RunningJob | 'unknown' | undefined>;
  /** Ends the job that runs. It leaves no unfinished file. @returns false if none runs */
  stop(operator: string): boolean;
  /**
   * @param file a backup in the list, or its manifest
   * @throws errors of the file system
   */
  open(file: string): Promise<BackupFile | 'unknown' | 'too many'>;
}
