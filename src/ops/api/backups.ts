import type { Handler } from '../answer.ts';
import type { BackupList, LastRun, RunningBackup } from '../contract.ts';
import { answerJson, refuse } from './json.ts';
import type { SessionRequest } from './session.ts';

/** The backups of a service with `--backup-to`. */
export interface BackupDesk {
  show(): Promise<BackupList>;
  /** Null: this service has made no backup. */
  last(): LastRun | null;
  /** Begins a backup for the operator. @returns undefined beside another one */
  backUp(operator: string): RunningBackup | undefined;
}

/** Undefined: the service has no folder for backups. */
type Desk = BackupDesk | undefined;

const withoutFolder: BackupList = {
  folder: null,
  fault: null,
  backups: [],
  leftOut: 0,
  keep: null,
  everySeconds: null,
  dueAt: null,
  last: null,
  running: null,
};

export function listBackups(desk: Desk): Handler {
  return async () => answerJson((await desk?.show()) ?? withoutFolder);
}

/** Answers before the backup has ended. */
export function makeBackup(desk: Desk): Handler<SessionRequest> {
  return ({ operator }) => {
    if (!desk) return refuse('backupsOff', withoutFolderSays);
    const running = desk.backUp(operator);
    return running
      ? answerJson(running, 202)
      : refuse('jobUnderWay', 'Another backup is under way. Wait for its end.');
  };
}

const withoutFolderSays =
  'This service has no folder for backups. Start it with --backup-to FOLDER.';
