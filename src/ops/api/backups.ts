import type { Context, Handler } from 'hono';
import { excerpt } from '../../contract/excerpt.ts';
import type { JobRecord } from '../../store/jobs.ts';
import type { BackupDesk, BackupFile } from '../backup-desk.ts';
import type { BackupList, BackupToVerify, RunningJob } from '../contract.ts';
import { jsonObject, refuse } from './json.ts';
import { jobReply } from './overview.ts';
import type { OperatorEnv, OperatorLog } from './session.ts';

/** Undefined: the service has no folder for backups. */
type Desk = BackupDesk | undefined;

export function listBackups(desk: Desk, listJobs: () => Promise<readonly JobRecord[]>): Handler {
  return async (context) => {
    const records = await listJobs();
    return context.json((await desk?.show(records)) ?? withoutFolder(records));
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

export function makeBackup(desk: Desk): Handler<OperatorEnv> {
  return (context) => {
    if (!desk) return refuseWithoutFolder(context);
    return begun(context, desk.backUp(context.get('operator')));
  };
}

export function verifyBackup(desk: Desk): Handler<OperatorEnv> {
  return async (context) => {
    if (!desk) return refuseWithoutFolder(context);
    const body = await jsonObject<BackupToVerify>(context);
    if (body instanceof Response) return body;
    const { file } = body;
    if (typeof file !== 'string')
      return refuse(context, 'bodyWrong', 'Send the name of a backup as {"file": "…"}.');
    const running = await desk.verify(file, context.get('operator'));
    return running === 'unknown' ? refuseUnknown(context, file) : begun(context, running);
  };
}

/** Answers before the job has ended. */
export function stopJob(desk: Desk): Handler<OperatorEnv> {
  return (context) => {
    desk?.stop(context.get('operator'));
    return context.body(null, 204);
  };
}

/** The file as it is on the disk, with its digest (RFC 9530). */
export function downloadBackup(desk: Desk, log: OperatorLog): Handler<OperatorEnv> {
  return async (context) => {
    const file = context.req.param('file') ?? '';
    if (!desk) return refuseWithoutFolder(context);
    const opened = await desk.open(file);
    if (opened === 'unknown') return refuseUnknown(context, file);
    if (opened === 'too many')
      return refuse(context, 'downloadsTooMany', 'Other downloads of backups are under way.');
    log.info({ operator: context.get('operator'), file }, 'a backup is downloaded in the console');
    return context.body(opened.body, 200, downloadFields(file, opened));
  };
}

function downloadFields(file: string, { sha256 }: BackupFile): Record<string, string> {
  const digest = sha256 && Buffer.from(sha256, 'hex').toString('base64');
  return {
    'Content-Type': sha256 ? 'application/vnd.sqlite3' : 'application/json',
    // The name of a backup is made of the characters of a name of a file, and of no quotation mark.
    'Content-Disposition': `attachment; filename*=UTF-8''${encodeURIComponent(file)}`,
    'Transfer-Encoding': 'chunked',
    ...(digest ? { 'Repr-Digest': `sha-256=:${digest}:` } : {}),
  };
}

function begun(context: Context, running: RunningJob | undefined): Response {
  if (running) return context.json(running, 202);
  const message = 'Another job of the backups runs now. Wait for its end, or stop it.';
  return refuse(context, 'jobUnderWay', message);
}

function refuseUnknown(context: Context, file: string): Response {
  return refuse(context, 'backupUnknown', `There is no backup ${excerpt(file)} in the folder.`);
}

function refuseWithoutFolder(context: Context): Response {
  const message = 'This service has no folder for backups. Start it with --backup-to FOLDER.';
  return refuse(context, 'backupsOff', message);
}
