import { join, resolve } from 'node:path';
import type { Environment } from '../../config/environment.ts';
import { type Retention, retentionText } from '../../config/values.ts';
import { isErrno, isSystemError } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import { jobReply } from '../../ops/api/overview.ts';
import type { BackupDesk } from '../../ops/backup-desk.ts';
import type { PlannedJob } from '../../ops/contract.ts';
import type { Log } from '../../service/log.ts';
import type { JobName, JobRecord } from '../../store/jobs.ts';
import type { StoreLocation } from '../../store/location.ts';
import { engineOf } from '../../stores.ts';
import { recordCheck } from '../backup/backup-checks.ts';
import { manifestEnding } from '../backup/manifest.ts';
import { openDownload } from './backup-file.ts';
import { openBackupFolder } from './backup-list.ts';
import { type JobEnd, type JobOrder, openJobRunner } from './job-runner.ts';
import { openSchedule, type ScheduledJob } from './schedule.ts';

/** What `serve` does with a folder of backups. */
export interface BackupPlan {
  readonly folder: string;
  readonly keep: Retention;
  readonly everyMs: Readonly<Record<JobName, number | 'off'>>;
}

export interface ServiceBackups extends AsyncDisposable {
  readonly desk: BackupDesk;
  /** Begins to run the jobs of the plan. */
  start(): void;
}

/** Runs the jobs of a plan at regular times, and those that operators ask for between. */
export function openBackups(
  plan: BackupPlan,
  location: StoreLocation,
  env: Environment,
  log: Log,
): ServiceBackups {
  const folder = resolve(plan.folder);
  const { backupName } = engineOf(location);
  const keep = retentionText(plan.keep);
  const args = {
    backup: ['backup', folder, '--keep', keep],
    scrub: ['verify', '--against', folder],
    drill: ['drill', folder],
  } as const;
  const jobs = names.flatMap((name): ScheduledJob[] => {
    const everyMs = plan.everyMs[name];
    return everyMs === 'off' ? [] : [{ name, everyMs, args: args[name] }];
  });
  const list = openBackupFolder(folder, backupName);
  const runner = openJobRunner(location, env, log, noteEnd);
  const schedule = openSchedule(jobs, runner, location, log, Date.now);
  let downloads = 0;

  function begin(order: JobOrder) {
    const end = runner.run(order);
    // A defect of a job must not end the service.
    end?.catch((err) => log.error({ err, job: order.job }, 'the end of a job was not noted'));
    return end && runner.running();
  }

  /** Remembers what a check of one backup has found. */
  async function noteEnd({ file }: JobOrder, { outcome, fault }: JobEnd): Promise<void> {
    list.forget();
    if (file === undefined || outcome === 'stopped') return;
    const { sha256s } = await list.look();
    const check = { checkedAt: new Date().toISOString(), fault: fault ?? null };
    await recordCheck(folder, backupName, new Set(sha256s.keys()), file, check).catch((error) => {
      if (!isSystemError(error)) throw error;
      log.warn({ file, reason: error.message }, 'the check of a backup could not be recorded');
    });
    list.forget();
  }

  function planned(name: JobName, records: readonly JobRecord[]): PlannedJob {
    const job = jobs.find((known) => known.name === name);
    const record = records.find((known) => known.name === name);
    const dueMs = job ? schedule.dueMs(job, records) : Number.POSITIVE_INFINITY;
    return {
      name,
      everySeconds: job ? job.everyMs / 1_000 : null,
      dueAt: Number.isFinite(dueMs) ? new Date(dueMs).toISOString() : null,
      last: record ? jobReply(record) : null,
    };
  }

  const desk: BackupDesk = {
    async show(records) {
      const { backups, leftOut, fault } = await list.look();
      const [running, ended] = [runner.running() ?? null, runner.ended() ?? null];
      const planOf = names.map((name) => planned(name, records));
      return { folder, fault, backups, leftOut, keep, plan: planOf, running, ended };
    },
    backUp: (operator) => begin({ job: 'backup', args: args.backup, operator }),
    async verify(file, operator) {
      if (!(await list.look()).sha256s.has(file)) return 'unknown';
      const order = {
        job: 'verify',
        args: ['verify', join(folder, file)],
        file,
        operator,
      } as const;
      return begin(order);
    },
    stop: runner.stop,
    async open(file) {
      const { sha256s } = await list.look();
      const backup = file.endsWith(manifestEnding) ? file.slice(0, -manifestEnding.length) : file;
      if (!sha256s.has(backup)) return 'unknown';
      if (downloads >= limits.ops.downloadsMax) return 'too many';
      downloads += 1;
      const onEnd = () => {
        downloads -= 1;
      };
      const body = await openDownload(join(folder, file), onEnd).catch((error) => {
        if (isErrno(error, 'ENOENT')) return undefined;
        throw error;
      });
      // The backup was removed meanwhile.
      if (body === undefined) return 'unknown';
      return { body, sha256: file === backup ? sha256s.get(file) : undefined };
    },
  };
  return {
    desk,
    start: schedule.start,
    async [Symbol.asyncDispose]() {
      await Promise.all([runner[Symbol.asyncDispose](), schedule[Symbol.asyncDispose]()]);
    },
  };
}

/** In the order in which they run if several are due. */
const names: readonly JobName[] = ['backup', 'scrub', 'drill'];
