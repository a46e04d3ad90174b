import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { type Environment, withoutSettings } from '../config/environment.ts';
import { type Retention, retentionText } from '../config/values.ts';
import { limits } from '../limits.ts';
import type { BackupDesk } from '../ops/backup-desk.ts';
import type { LastRun, RunningBackup } from '../ops/contract.ts';
import { programCommand } from '../program.ts';
import type { Log } from '../service/log.ts';
import { StoreError, StoreOpenError } from '../store/errors.ts';
import type { StoreLocation } from '../store/location.ts';
import { engineOf, openReader } from '../stores.ts';
import { openBackupFolder } from './list.ts';
import { followProgress } from './progress.ts';

/** What `serve` does with a folder of backups. */
export interface BackupPlan {
  /** An absolute path. */
  readonly folder: string;
  readonly keep: Retention;
  readonly everyMs: number;
}

/** How another process of the program opens the store. */
export interface StoreOfChild {
  /** The value of `--store`. */
  readonly flag: string;
  readonly env: Environment;
}

export interface ServiceBackups extends AsyncDisposable {
  readonly desk: BackupDesk;
  /** Begins to make backups at regular times. */
  start(): void;
}

/**
 * Makes backups at regular times, and when an operator asks for one. Each is a process of its own
 * with a lower priority than the service.
 *
 * A backup is due when the last one, which the store remembers, is long enough ago: so backups by
 * other processes count, too. After a failure, the next try comes after `limits.jobs.retryMs`. A
 * backup in the future puts nothing off: the clock was ahead then, or is behind now.
 *
 * @param now milliseconds since the epoch
 */
export function openBackups(
  { folder, keep, everyMs }: BackupPlan,
  location: StoreLocation,
  child: StoreOfChild,
  env: Environment,
  log: Log,
  now: () => number,
): ServiceBackups {
  const rules = retentionText(keep);
  const args = ['backup', folder, '--keep', rules, '--json', '--store', child.flag];
  const list = openBackupFolder(folder, engineOf(location).backupName);
  let running: { reply(): RunningBackup; readonly end: Promise<void> } | undefined;
  let stop: () => void = () => undefined;
  let last: LastRun | null = null;
  let isStopping = false;
  let timer: NodeJS.Timeout | undefined;

  async function run(operator: string | null, progress = followProgress()): Promise<void> {
    const fields = operator === null ? {} : { operator };
    const result = await runProgram(args, { ...withoutSettings(env), ...child.env }, (process) => {
      stop = () => process.kill('SIGTERM');
      process.on('message', progress.take);
    });
    if (isStopping) return;
    list.forget();
    const fault = 'fault' in result ? result.fault : null;
    last = { ranAt: new Date(now()).toISOString(), fault };
    if ('fault' in result) return log.error({ ...fields, fault }, 'a backup has failed');
    const level = Object(result.done).warning === undefined ? 'info' : 'warn';
    log[level]({ ...fields, result: result.done }, 'a backup was made');
  }

  /** @returns undefined beside another backup */
  function begin(operator: string | null): Promise<void> | undefined {
    if (isStopping || running !== undefined) return undefined;
    const startedAt = new Date(now()).toISOString();
    const progress = followProgress();
    const end = run(operator, progress).finally(() => {
      running = undefined;
    });
    running = { reply: () => ({ operator, startedAt, ...progress.now() }), end };
    return end;
  }

  async function dueMs(): Promise<number> {
    const madeMs = await lastBackupMs(location);
    if (madeMs !== undefined && madeMs > now())
      log.warn(
        { madeAt: new Date(madeMs).toISOString() },
        'the last backup is in the future, because the clock was ahead or is behind; a backup is made now',
      );
    const past = (atMs = 0) => (atMs > now() ? 0 : atMs);
    const failedMs = last?.fault ? past(Date.parse(last.ranAt)) : 0;
    const retryMs = failedMs + Math.min(limits.jobs.retryMs, everyMs);
    return Math.max(past(madeMs) + everyMs, retryMs);
  }

  async function takeTurn(): Promise<void> {
    const dueAtMs = await dueMs().catch((error) => {
      // While the store cannot be read, no backup can be made.
      if (error instanceof StoreError || error instanceof StoreOpenError) return undefined;
      throw error;
    });
    if (dueAtMs !== undefined && dueAtMs <= now()) await begin(null);
    const waitMs = dueAtMs === undefined ? limits.jobs.restMs : dueAtMs - now();
    wait(Math.max(limits.jobs.restMs, Math.min(limits.jobs.lookMs, waitMs)));
  }

  function wait(ms: number): void {
    if (isStopping) return;
    timer = setTimeout(() => {
      // A defect of the schedule must not end the service.
      takeTurn().catch((err) => log.error({ err }, 'no more backups are made'));
    }, ms).unref();
  }

  const desk: BackupDesk = {
    last: () => last,
    async show() {
      const dueAt = await dueMs().catch(() => undefined);
      return {
        ...{ folder, keep: rules, everySeconds: everyMs / 1_000, last },
        ...(await list.look()),
        dueAt: dueAt === undefined ? null : new Date(dueAt).toISOString(),
        running: running?.reply() ?? null,
      };
    },
    backUp(operator) {
      const end = begin(operator);
      end?.catch((err) => log.error({ err }, 'the end of a backup was not noted'));
      return end && running?.reply();
    },
  };
  return {
    desk,
    start: () => wait(limits.jobs.restMs),
    async [Symbol.asyncDispose]() {
      isStopping = true;
      clearTimeout(timer);
      stop();
      // A defect is logged where the backup was begun.
      await running?.end.catch(() => undefined);
    },
  };
}

/** @throws StoreError, StoreOpenError */
async function lastBackupMs(location: StoreLocation): Promise<number | undefined> {
  await using store = await openReader(location, limits.jobs.readMs);
  return (await store.listBackups())[0]?.finishedAtMs;
}

type Result = { readonly done: unknown } | { readonly fault: string };

/** Runs the program with `--json` to its end. */
async function runProgram(
  args: readonly string[],
  env: Environment,
  onStart: (child: ChildProcess) => void,
): Promise<Result> {
  const [program, ...first] = programCommand;
  const child = spawn(program, [...first, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  onStart(child);
  const printed = [child.stdout, child.stderr].map((stream) => stream && tailOf(stream));
  const ended = once(child, 'close').catch((error: Error) => error);
  if (child.pid !== undefined) lowerPriority(child.pid);
  const end = await ended;
  if (end instanceof Error) return { fault: `the program cannot be started (${end.message})` };
  const [stdout, stderr] = printed.map((read) => read?.().trimEnd().split('\n').at(-1) ?? '');
  if (child.exitCode === 0) return { done: parsed(stdout) };
  if (child.signalCode !== null) return { fault: `the process was ended by ${child.signalCode}` };
  return { fault: stderr?.replace(/^plant-store: /, '') || `exit code ${child.exitCode}` };
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
