import type { Handler } from '../answer.ts';
import type { BackupList, BackupReply, LastRun, RunningBackup } from '../contract.ts';
import type { PlantCount } from '../metrics/plant-count.ts';
import { answerJson, refuse } from './json.ts';
import type { SessionRequest } from './session.ts';

/** The backups of a service with `--backup-to`. */
export interface BackupDesk {
  show(): Promise<BackupList>;
  /** Null: this service has made no backup. */
  last(): LastRun | null;
  /** Says which plants are lost, as far as the manifests in the folder and a count tell. */
  loss(count: PlantCount | undefined): string | undefined;
  /** Begins a backup for the operator. @returns undefined beside another one */
  backUp(operator: string): RunningBackup | undefined;
}

/** @param desk undefined: the service has no folder for backups */
export function listBackups(desk: BackupDesk | undefined): Handler {
  return async () =>
    answerJson(desk ? await desk.show() : ({ folder: null } satisfies BackupReply));
}

/** Answers before the backup has ended. */
export function makeBackup(desk: BackupDesk | undefined): Handler<SessionRequest> {
  return ({ operator }) => {
    if (!desk)
      return refuse(
        'backupsOff',
        'This service has no folder for backups. Start it with --backup-to FOLDER.',
      );
    const running = desk.backUp(operator);
    return running
      ? answerJson(running, 202)
      : refuse('jobUnderWay', 'Another backup is under way. Wait for its end.');
  };
}
