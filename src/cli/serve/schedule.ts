import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import type { Environment } from '../../config/environment.ts';
import { limits } from '../../limits.ts';
import { programCommand } from '../../program.ts';
import type { Log } from '../../service/log.ts';
import { StoreError, StoreOpenError } from '../../store/errors.ts';
import type { JobName, JobRecord } from '../../store/jobs.ts';
import type { StoreLocation } from '../../store/location.ts';
import { openReader } from '../../stores.ts';
import { commandsOf } from '../engines.ts';
import { recordRun } from '../job.ts';

/** A command that runs at regular times. */
export interface ScheduledJob {
  readonly name: JobName;
  readonly everyMs: number;
  /** Arguments of the program, without `--store`. */
  readonly args: readonly string[];
}

/** Disposing of it ends the job that is running. */
export type Schedule = AsyncDisposable;

/**
 * Runs the jobs of a service, one at a time, each as a process of its own with the lowest priority.
 * A job is due when its last success, which the store remembers, is long enough ago. So runs by
 * other processes count, too. A failed job is tried again after `limits.jobs.retryMs`.
 *
 * @param jobs in the order in which they run if several are due
 */
export function startSchedule(
  jobs: readonly ScheduledJob[],
  location: StoreLocation,
  env: Environment,
  log: Log,
): Schedule {
  /** Failures that the store may not know. */
  const failedMs = new Map<JobName, number>();
  let isStopping = false;
  let running: ChildProcess | undefined;
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
    const due = (job: ScheduledJob) => dueMs(job, records ?? [], failedMs) - Date.now();
    const next = records && jobs.find((job) => due(job) <= 0);
    if (next === undefined) log.debug({}, 'no job is due');
    else if (!isStopping) await run(next);
    const soonest = next || !records ? limits.jobs.restMs : Math.min(...jobs.map(due));
    wait(Math.max(limits.jobs.restMs, Math.min(limits.jobs.lookMs, soonest)));
  }

  async function run({ name, args }: ScheduledJob): Promise<void> {
    const startedMs = performance.now();
    const result = await runProgram([...args, '--json'], location, env, (child) => {
      running = child;
      log.debug({ job: name, child: child.pid }, 'a job has started');
    });
    running = undefined;
    if (isStopping) return;
    const tookMs = Math.round(performance.now() - startedMs);
    if ('done' in result) {
      log.info({ job: name, tookMs, result: result.done }, 'a job is done');
      return;
    }
    failedMs.set(name, Date.now());
    log.error({ job: name, tookMs, fault: result.fault }, 'a job has failed');
    if (result.isUnrecorded)
      await recordRun({ name, atMs: Date.now(), tookMs, fault: result.fault }, location, (why) =>
        log.warn({ job: name }, why),
      );
  }

  wait(limits.jobs.restMs);
  return {
    async [Symbol.asyncDispose]() {
      isStopping = true;
      clearTimeout(timer);
      running?.kill('SIGTERM');
      await turn;
    },
  };
}

/** When the job is due, in milliseconds since the epoch. */
function dueMs(
  { name, everyMs }: ScheduledJob,
  records: readonly JobRecord[],
  failures: ReadonlyMap<JobName, number>,
): number {
  const record = records.find((known) => known.name === name);
  const hasBackup = records.some((known) => known.name === 'backup' && known.success);
  // Only the backup needs no backup.
  if (name !== 'backup' && !hasBackup) return Number.POSITIVE_INFINITY;
  const failedMs = Math.max(failures.get(name) ?? 0, record?.fault ? record.ranAtMs : 0);
  const retryMs = failedMs + Math.min(limits.jobs.retryMs, everyMs);
  return Math.max((record?.success?.atMs ?? 0) + everyMs, retryMs);
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

type Result =
  | { readonly done: unknown }
  /** A process that could not start, or was killed, has recorded nothing. */
  | { readonly fault: string; readonly isUnrecorded: boolean };

/** Runs the program with `--json` to its end. */
async function runProgram(
  args: readonly string[],
  location: StoreLocation,
  env: Environment,
  onStart: (child: ChildProcess) => void,
): Promise<Result> {
  const store = commandsOf(location).forChild;
  const [program, ...first] = programCommand;
  const child = spawn(program, [...first, ...args, '--store', store.flag], {
    env: { ...withoutSettings(env), ...store.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onStart(child);
  const printed = [tailOf(child.stdout), tailOf(child.stderr)] as const;
  const ended = once(child, 'close').catch((error: Error) => error);
  if (child.pid !== undefined) lowerPriority(child.pid);
  const end = await ended;
  if (end instanceof Error)
    return { fault: `the program cannot be started (${end.message})`, isUnrecorded: true };
  const [stdout, stderr] = printed.map((read) => read().trimEnd().split('\n').at(-1) ?? '');
  if (child.exitCode === 0) return { done: parsed(stdout) };
  if (child.signalCode !== null)
    return { fault: `the process was ended by ${child.signalCode}`, isUnrecorded: true };
  const fault = stderr?.replace(/^plant-store: /, '') || `exit code ${child.exitCode}`;
  return { fault, isUnrecorded: false };
}

/** The last line of a command with `--json`. */
function parsed(line = ''): unknown {
  try {
    return JSON.parse(line);
  } catch {
    // The log shows the line as it is.
    return line;
  }
}

/** The service's own settings are not those of the command. */
function withoutSettings(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^PLANT_STORE_/.test(name)));
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // The process has ended already, or the system knows no priorities.
  }
}

/** @returns what the stream has carried last, up to `limits.jobs.outputCharsMax` */
function tailOf(stream: NodeJS.ReadableStream): () => string {
  let text = '';
  stream.setEncoding('utf8');
  stream.on('data', (more: string) => {
    text = (text + more).slice(-limits.jobs.outputCharsMax);
  });
  return () => text;
}
