import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import type { Environment } from '../../config/environment.ts';
import { limits } from '../../limits.ts';
import type { EndedJob, JobName, RunningJob } from '../../ops/contract.ts';
import { programCommand } from '../../program.ts';
import type { Log } from '../../service/log.ts';
import type { StoreLocation } from '../../store/location.ts';
import { commandsOf } from '../engines.ts';
import { recordRun } from '../job.ts';
import { followProgress, type Progress } from '../terminal/progress.ts';

/** What a process of this program is to do. */
export interface JobOrder {
  readonly job: JobName;
  /** Arguments of the program, without `--store`. */
  readonly args: readonly string[];
  /** The backup that is verified. */
  readonly file?: string;
  /** Who asked for the job. Undefined: it was due. */
  readonly operator?: string;
}

export interface JobEnd {
  readonly outcome: EndedJob['outcome'];
  /** Why the job has failed. */
  readonly fault?: string;
}

/** Runs jobs, one at a time. Disposing of it ends the job that is running. */
export interface JobRunner extends AsyncDisposable {
  /** @returns undefined beside another job, or after the disposal */
  run(order: JobOrder): Promise<JobEnd> | undefined;
  running(): RunningJob | undefined;
  /** The last job that has ended, unless it was ended by the disposal. */
  ended(): EndedJob | undefined;
  /** Ends the running job. @returns false if there is none */
  stop(operator: string): boolean;
}

interface Running {
  readonly order: JobOrder;
  readonly startedAtMs: number;
  readonly progress: Progress;
  child?: ChildProcess;
  stoppedBy?: string;
}

/**
 * Each job is a process of its own with a lower priority than the service. A job ends with a line
 * in the log, and a failed job also with a record in the store.
 *
 * @param onEnd is a part of the job: the next job begins after it
 */
export function openJobRunner(
  location: StoreLocation,
  env: Environment,
  log: Log,
  onEnd: (order: JobOrder, end: JobEnd) => Promise<void>,
): JobRunner {
  let isClosed = false;
  let current: Running | undefined;
  let end: Promise<unknown> = Promise.resolve();
  let last: EndedJob | undefined;

  async function work(running: Running): Promise<JobEnd> {
    const { order, progress } = running;
    const startedMs = performance.now();
    const { job, operator } = order;
    const of = operator === undefined ? { job } : { job, operator };
    const args = [...order.args, '--json'];
    const result = await runProgram(args, location, env, (child) => {
      running.child = child;
      child.on('message', progress.take);
      log.debug({ ...of, child: child.pid }, 'a job has started');
    });
    const tookMs = Math.round(performance.now() - startedMs);
    const how = endOf(result, running.stoppedBy !== undefined);
    if (isClosed) return how;
    logEnd(result, how, { ...of, tookMs }, running.stoppedBy);
    if ('fault' in result && result.isUnrecorded && how.outcome === 'failed')
      await recordFailure(job, tookMs, result.fault);
    await onEnd(order, how);
    last = {
      ...{ ...namesOf(order), endedAt: timeText(Date.now()), ...how },
      ...{ fault: how.fault ?? null, removed: removedIn(result) },
    };
    return how;
  }

  function logEnd(result: Result, { outcome }: JobEnd, fields: object, stoppedBy?: string): void {
    if ('done' in result)
      log[hasWarning(result) ? 'warn' : 'info'](
        { ...fields, result: result.done },
        'a job is done',
      );
    else if (outcome === 'stopped') log.info({ ...fields, stoppedBy }, 'a job was stopped');
    else log.error({ ...fields, fault: result.fault }, 'a job has failed');
  }

  async function recordFailure(job: JobName, tookMs: number, fault: string): Promise<void> {
    // A store knows nothing of checks of single backups.
    if (job === 'verify') return;
    await recordRun({ name: job, atMs: Date.now(), tookMs, fault }, location, (why) =>
      log.warn({ job }, why),
    );
  }

  return {
    run(order) {
      if (isClosed || current) return undefined;
      const startedAtMs = Date.now();
      current = { order, startedAtMs, progress: followProgress() };
      const ended = work(current).finally(() => {
        current = undefined;
      });
      end = ended;
      return ended;
    },
    running: () => current && runningReply(current),
    ended: () => last,
    stop(operator) {
      if (!current) return false;
      current.stoppedBy ??= operator;
      current.child?.kill('SIGTERM');
      return true;
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      current?.child?.kill('SIGTERM');
      // Whoever has ordered the job hears of a defect.
      await end.catch(() => undefined);
    },
  };
}

function runningReply({ order, startedAtMs, progress, stoppedBy }: Running): RunningJob {
  return {
    ...namesOf(order),
    startedAt: timeText(startedAtMs),
    isStopping: stoppedBy !== undefined,
    ...progress.now(),
  };
}

function namesOf({ job, file, operator }: JobOrder): Pick<RunningJob, 'job' | 'file' | 'operator'> {
  return { job, file: file ?? null, operator: operator ?? null };
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

type Result =
  | { readonly done: unknown }
  /** A process that could not start, or was killed, has recorded nothing. */
  | { readonly fault: string; readonly isUnrecorded: boolean };

function endOf(result: Result, wasStopped: boolean): JobEnd {
  if ('done' in result) return { outcome: 'done' };
  // A stopped process ends by its signal. A fault that came first is a fault.
  if (wasStopped && result.isUnrecorded) return { outcome: 'stopped' };
  return { outcome: 'failed', fault: result.fault };
}

/** Of the result of a backup. */
function removedIn(result: Result): number {
  const { removed = 0 } = 'done' in result ? (result.done as { readonly removed?: number }) : {};
  return removed;
}

function hasWarning(result: Result): boolean {
  return 'done' in result && Object(result.done).warning !== undefined;
}

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
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  onStart(child);
  const printed = [child.stdout, child.stderr].map((stream) => stream && tailOf(stream));
  const ended = once(child, 'close').catch((error: Error) => error);
  if (child.pid !== undefined) lowerPriority(child.pid);
  const end = await ended;
  if (end instanceof Error)
    return { fault: `the program cannot be started (${end.message})`, isUnrecorded: true };
  const [stdout, stderr] = printed.map((read) => read?.().trimEnd().split('\n').at(-1) ?? '');
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

/** On a busy machine, a process of the lowest priority hardly moves. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
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
