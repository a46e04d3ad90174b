import type { Handler } from '../answer.ts';
import type { BackupList, BackupReply, LastRun, RunningBackup } from '../contract.ts';
import type { PlantCount } from '../metrics/plant-count.ts';
import { answerJson, refuse } from './json.ts';
import type { SessionRequest } from './session.ts';

/** The backups of a service with `--backup-to`. */
export interface BackupControl {
  show(): Promise<BackupList>;
  /** Null: this service has made no backup. */
  last(): LastRun | null;
  /** Says which plants are lost, as far as the manifests in the folder and a count tell. */
  loss(count: PlantCount | undefined): string | undefined;
  /** Begins a backup for the operator. @returns undefined beside another one */
  backUp(operator: string): RunningBackup | undefined;
}

/** @param control undefined: the service has no folder for backups */
export function listBackups(control: BackupControl | undefined): Handler {
  return async () =>
    answerJson(control ? await control.show() : ({ folder: null } satisfies BackupReply));
}

/** Answers before the backup has ended. */
export function makeBackup(control: BackupControl | undefined): Handler<SessionRequest> {
  return ({ operator }) => {
    if (!control)
      return refuse(
        'backupsOff',
        'This service has no folder for backups. Start it with --backup-to FOLDER.',
      );
    const running = control.backUp(operator);
    return running
      ? answerJson(running, 202)
      : refuse('backupUnderWay', 'Another backup is under way. Wait for its end.');
  };
}
