import { excerpt } from '../../contract/excerpt.ts';
import type { JobRecord } from '../../store/jobs.ts';
import type { Answer, Handler } from '../answer.ts';
import type { BackupDesk, BackupFile } from '../backup-desk.ts';
import type { BackupList, BackupToVerify, RunningJob } from '../contract.ts';
import { answerJson, noContent, refuse, type Unchecked, withJson } from './json.ts';
import { jobReply } from './overview.ts';
import type { OperatorLog, SessionRequest } from './session.ts';

/** Undefined: the service has no folder for backups. */
type Desk = BackupDesk | undefined;

export function listBackups(desk: Desk, listJobs: () => Promise<readonly JobRecord[]>): Handler {
  return async () => {
    const records = await listJobs();
    return answerJson((await desk?.show(records)) ?? withoutFolder(records));
  };
}

/** Other processes may make backups of the store, and tell the store of their jobs. */
function withoutFolder(records: readonly JobRecord[]): BackupList {
  const plan = records.map((record) => ({
    name: record.name,
    everySeconds: null,
    dueAt: null,
    last: jobReply(record),
  }));
  const nothing = { folder: null, fault: null, keep: null, running: null, ended: null };
  return { ...nothing, backups: [], leftOut: 0, plan };
}

export function makeBackup(desk: Desk): Handler<SessionRequest> {
  return ({ operator }) => (desk ? begun(desk.backUp(operator)) : refuseWithoutFolder());
}

export function verifyBackup(desk: Desk): Handler<SessionRequest> {
  if (!desk) return refuseWithoutFolder;
  return withJson(async ({ operator }, { file }: Unchecked<BackupToVerify>) => {
    if (typeof file !== 'string')
      return refuse('bodyWrong', 'Send the name of a backup as {"file": "…"}.');
    const running = await desk.verify(file, operator);
    return running === 'unknown' ? refuseUnknown(file) : begun(running);
  });
}

/** Answers before the job has ended. */
export function stopJob(desk: Desk): Handler<SessionRequest> {
  return ({ operator }) => {
    desk?.stop(operator);
    return noContent;
  };
}

/** The file as it is on the disk, with its digest (RFC 9530). */
export function downloadBackup(desk: Desk, log: OperatorLog): Handler<SessionRequest> {
  if (!desk) return refuseWithoutFolder;
  return async ({ operator, params }) => {
    const { file = '' } = params;
    const opened = await desk.open(file);
    if (opened === 'unknown') return refuseUnknown(file);
    if (opened === 'too many')
      return refuse('downloadsTooMany', 'Other downloads of backups are under way.');
    log.info({ operator, file }, 'a backup is downloaded in the console');
    return { status: 200, headers: downloadFields(file, opened), body: opened.body };
  };
}

function downloadFields(file: string, { sha256 }: BackupFile): Record<string, string> {
  const digest = sha256 && Buffer.from(sha256, 'hex').toString('base64');
  return {
    'Content-Type': sha256 ? 'application/vnd.sqlite3' : 'application/json',
    // The name of a backup is made of the characters of a name of a file, and of no quotation mark.
    'Content-Disposition': `attachment; filename*=UTF-8''${encodeURIComponent(file)}`,
    ...(digest ? { 'Repr-Digest': `sha-256=:${digest}:` } : {}),
  };
}

function begun(running: RunningJob | undefined): Answer {
  if (running) return answerJson(running, 202);
  const message = 'Another job of the backups runs now. Wait for its end, or stop it.';
  return refuse('jobUnderWay', message);
}

function refuseUnknown(file: string): Answer {
  return refuse('backupUnknown', `There is no backup ${excerpt(file)} in the folder.`);
}

function refuseWithoutFolder(): Answer {
  const message = 'This service has no folder for backups. Start it with --backup-to FOLDER.';
  return refuse('backupsOff', message);
}
