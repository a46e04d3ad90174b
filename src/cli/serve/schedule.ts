import { limits } from '../../limits.ts';
import type { Log } from '../../service/log.ts';
import { StoreError, StoreOpenError } from '../../store/errors.ts';
import type { JobName, JobRecord } from '../../store/jobs.ts';
import type { StoreLocation } from '../../store/location.ts';
import { openReader } from '../../stores.ts';
import type { JobRunner } from './job-runner.ts';

/** A command that runs at regular times. */
export interface ScheduledJob {
  readonly name: JobName;
  readonly everyMs: number;
  /** Arguments of the program, without `--store`. */
  readonly args: readonly string[];
}

export interface Schedule extends AsyncDisposable {
  /** Begins to run jobs. */
  start(): void;
  /** When the job is due, in milliseconds since the epoch. Infinite without a backup. */
  dueMs(job: ScheduledJob, records: readonly JobRecord[]): number;
}

/**
 * Runs the jobs of a service, one at a time. A job is due when its last success, which the store
 * remembers, is long enough ago. So runs by other processes count, too. A job that has failed or
 * was stopped is tried again after `limits.jobs.retryMs`. A run in the future puts nothing off: the
 * clock was ahead then, or is behind now.
 *
 * @param jobs in the order in which they run if several are due
 * @param now milliseconds since the epoch
 */
export function openSchedule(
  jobs: readonly ScheduledJob[],
  runner: JobRunner,
  location: StoreLocation,
  log: Log,
  now: () => number,
): Schedule {
  /** Failures that the store may not know. */
  const failedMs = new Map<JobName, number>();
  let isStopping = false;
  let timer: NodeJS.Timeout | undefined;
  let turn: Promise<void> = Promise.resolve();

  function wait(ms: number): void {
    if (isStopping) return;
    timer = setTimeout(() => {
      // A defect of the schedule must not end the service.
      turn = takeTurn().catch((err) => log.error({ err }, 'no more jobs are run'));
    }, ms).unref();
  }

  async function takeTurn(): Promise<void> {
    const records = await readRecords(location);
    const due = (job: ScheduledJob) => dueMs(job, records ?? []) - now();
    const next = records && jobs.find((job) => due(job) <= 0);
    if (next === undefined) log.debug({}, 'no job is due');
    else if (!isStopping) {
      warnOfFuture(next, records);
      await run(next);
    }
    const soonest = next || !records ? limits.jobs.restMs : Math.min(...jobs.map(due));
    wait(Math.max(limits.jobs.restMs, Math.min(limits.jobs.lookMs, soonest)));
  }

  function warnOfFuture({ name }: ScheduledJob, records: readonly JobRecord[] = []): void {
    const { success } = records.find((known) => known.name === name) ?? {};
    if (success === undefined || success.atMs <= now()) return;
    log.warn(
      { job: name, succeededAt: new Date(success.atMs).toISOString() },
      'the last success of a job is in the future, because the clock was ahead or is behind; the job runs now',
    );
  }

  /** Beside a job of an operator, the job stays due. */
  async function run({ name, args }: ScheduledJob): Promise<void> {
    const end = await runner.run({ job: name, args });
    if (end && end.outcome !== 'done') failedMs.set(name, now());
  }

  function dueMs({ name, everyMs }: ScheduledJob, records: readonly JobRecord[]): number {
    const record = records.find((known) => known.name === name);
    const hasBackup = records.some((known) => known.name === 'backup' && known.success);
    // Only the backup needs no backup.
    if (name !== 'backup' && !hasBackup) return Number.POSITIVE_INFINITY;
    const nowMs = now();
    const past = (atMs = 0) => (atMs > nowMs ? 0 : atMs);
    const lastMs = Math.max(past(failedMs.get(name)), record?.fault ? past(record.ranAtMs) : 0);
    const retryMs = lastMs + Math.min(limits.jobs.retryMs, everyMs);
    return Math.max(past(record?.success?.atMs) + everyMs, retryMs);
  }

  return {
    start: () => wait(limits.jobs.restMs),
    dueMs,
    async [Symbol.asyncDispose]() {
      isStopping = true;
      clearTimeout(timer);
      await turn;
    },
  };
}

/** @returns undefined while the store cannot be read */
async function readRecords(location: StoreLocation): Promise<readonly JobRecord[] | undefined> {
  try {
    await using store = await openReader(location, limits.jobs.readMs);
    return await store.listJobs();
  } catch (error) {
    if (error instanceof StoreError || error instanceof StoreOpenError) return undefined;
    throw error;
  }
}
