import { type ChildProcess, type ExecFileException, execFile } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Environment, withoutSettings } from '../cli/flags/environment.ts';
import { type Retention, retentionText } from '../cli/flags/values.ts';
import { isSystemError } from '../disk/files.ts';
import { limits } from '../limits.ts';
import type { BackupControl } from '../ops/api/backups.ts';
import type { BackupList, LastRun, ListedBackup, RunningBackup } from '../ops/contract.ts';
import { reused } from '../ops/loading.ts';
import { programCommand } from '../program.ts';
import { StoreError } from '../store/errors.ts';
import { type StoreLocation, settingOf } from '../store/location.ts';
import type { StoreReader } from '../store/store.ts';
import type { Log } from '../telemetry/log.ts';
import { backupsOf, lossIn, type Origin } from './lineage.ts';
import { countsText, lossText } from './loss.ts';
import { placeOf } from './origin.ts';
import { type BackupInSeries, listBackups } from './series.ts';

/** What `serve` does with a folder of backups. */
export interface BackupPlan {
  /** An absolute path. */
  readonly folder: string;
  readonly keep: Retention;
  readonly everyMs: number;
}

export type ServiceBackups = ReturnType<typeof openBackups>;

/**
 * Makes backups at regular times, and when an operator asks for one. Each is a process of its own
 * with a lower priority than the service.
 *
 * A backup is due when the last one, which the store remembers, is long enough ago: so backups by
 * other processes count, too. After a failure, the next try comes after `limits.schedule.retryMs`. A
 * backup in the future puts nothing off: the clock was ahead then, or is behind now.
 *
 * @param store of the running service
 * @param now milliseconds since the epoch
 */
export function openBackups(
  { folder, keep, everyMs }: BackupPlan,
  location: StoreLocation,
  store: () => Pick<StoreReader, 'identity' | 'listBackups'>,
  env: Environment,
  log: Log,
  now: () => number,
) {
  const rules = retentionText(keep);
  const args = ['backup', folder, '--keep', rules, '--json'];
  const childEnv = { ...withoutSettings(env), ...settingOf(location) };
  let origin = placeOf(location);
  const list = openBackupFolder(folder, () => origin);
  let running: { readonly reply: RunningBackup; readonly end: Promise<void> } | undefined;
  let signal: (name: NodeJS.Signals) => void = () => undefined;
  let last: LastRun | null = null;
  let isStopping = false;
  let timer: NodeJS.Timeout | undefined;

  async function run(operator: string | null): Promise<void> {
    const fields = operator === null ? {} : { operator };
    const result = await runProgram(args, childEnv, (process) => {
      signal = (name) => process.kill(name);
    });
    if (isStopping) return;
    list.forget();
    await list.look();
    if ('fault' in result) return noteFailure(result.fault, fields);
    last = { ranAt: new Date(now()).toISOString(), fault: null };
    const level = result.done.warning === undefined ? 'info' : 'warn';
    log[level]({ ...fields, result: result.done }, 'a backup was made');
  }

  function noteFailure(fault: string, fields: object): void {
    last = { ranAt: new Date(now()).toISOString(), fault };
    log.error({ ...fields, fault }, 'a backup has failed');
  }

  /** @returns undefined beside another backup */
  function begin(operator: string | null): Promise<void> | undefined {
    if (isStopping || running !== undefined) return undefined;
    const startedAt = new Date(now()).toISOString();
    const end = run(operator).finally(() => {
      running = undefined;
    });
    running = { reply: { operator, startedAt }, end };
    return end;
  }

  /** @param madeMs end of the last backup that the store knows */
  function dueMs(madeMs = 0): number {
    const past = (atMs: number) => (atMs > now() ? 0 : atMs);
    const ranMs = past(last === null ? 0 : Date.parse(last.ranAt));
    const isFailed = last?.fault && ranMs > past(madeMs);
    const pauseMs = isFailed ? Math.min(limits.schedule.retryMs, everyMs) : everyMs;
    return Math.max(now(), Math.max(past(madeMs), ranMs) + pauseMs);
  }

  /** The end of the last backup that the store knows. @throws StoreError */
  async function madeAtMs(): Promise<number | undefined> {
    origin = { ...placeOf(location), ...(await store().identity()) };
    return (await store().listBackups())[0]?.finishedAtMs;
  }

  /** @returns the time until the next turn */
  async function takeTurn(): Promise<number> {
    const madeMs = await madeAtMs();
    const { fault } = await list.look();
    // A folder that is away at the start is told now, and not when the next backup is due.
    if (last === null && fault !== null && dueMs(madeMs) > now())
      noteFailure(`${fault}; the folder is ${folder}`, {});
    const waitMs = dueMs(madeMs) - now();
    if (waitMs > 0) return waitMs;
    if (madeMs !== undefined && madeMs > now())
      log.warn(
        { madeAt: new Date(madeMs).toISOString() },
        'the last backup is in the future, because the clock was ahead or is behind; a ' +
          'backup is made now',
      );
    await begin(null);
    return limits.schedule.restMs;
  }

  function wait(ms: number): void {
    if (isStopping) return;
    timer = setTimeout(async () => {
      const nextMs = await takeTurn().catch((error) => {
        // While the store cannot be read, no backup can be made.
        if (!(error instanceof StoreError))
          log.error({ err: error }, 'the schedule of backups has failed');
        return limits.schedule.lookMs;
      });
      wait(Math.min(limits.schedule.lookMs, nextMs));
    }, ms).unref();
  }

  const control: BackupControl = {
    last: () => last,
    loss(count) {
      const loss = list.found && lossIn(list.found, origin, count);
      if (loss === undefined) return undefined;
      const { file, manifest } = loss;
      const counts =
        count && manifest && manifest.plants > count.counted
          ? countsText(loss, count.counted)
          : `the store lacks plants of ${file}`;
      return lossText(location, origin.identity, folder, loss, counts);
    },
    async show() {
      const dueAtMs = await madeAtMs().then(dueMs, () => undefined);
      return {
        folder,
        keep: rules,
        everySeconds: everyMs / 1_000,
        ...(await list.look()),
        dueAt: dueAtMs === undefined ? null : new Date(dueAtMs).toISOString(),
        // Of one moment: a backup may have ended while the folder was read.
        last,
        running: running?.reply ?? null,
      };
    },
    backUp(operator) {
      const end = begin(operator);
      end?.catch((err) => log.error({ err }, 'the end of a backup was not noted'));
      return end && running?.reply;
    },
  };
  return {
    control,
    /** Begins to make backups at regular times. */
    start: () => wait(limits.schedule.restMs),
    async [Symbol.asyncDispose]() {
      isStopping = true;
      clearTimeout(timer);
      signal('SIGTERM');
      // The folder may not answer. The next backup removes what is left there.
      const late = setTimeout(() => signal('SIGKILL'), limits.service.drainMs);
      // A defect is logged where the backup was begun.
      await running?.end.catch(() => undefined);
      clearTimeout(late);
    },
  };
}

type Result = { readonly done: { readonly warning?: string } } | { readonly fault: string };

/** Runs the program with `--json` to its end. @returns the last line that it has printed */
async function runProgram(
  args: readonly string[],
  env: Environment,
  onStart: (child: ChildProcess) => void,
): Promise<Result> {
  const [program, ...first] = programCommand;
  const running = promisify(execFile)(program, [...first, ...args], { env });
  onStart(running.child);
  if (running.child.pid !== undefined) lowerPriority(running.child.pid);
  const lastLine = (printed: string) => printed.trimEnd().split('\n').at(-1) ?? '';
  return running.then(
    ({ stdout }) => ({ done: JSON.parse(lastLine(stdout)) }),
    ({ code, signal, stderr, message }: ExecFileException & { readonly stderr: string }) => {
      if (typeof code === 'string') return { fault: `the program cannot be started (${message})` };
      if (signal) return { fault: `the process was ended by ${signal}` };
      return { fault: lastLine(stderr).replace(/^plant-store: /, '') || `exit code ${code}` };
    },
  );
}

/** Not the lowest: on a busy machine, such a process hardly moves. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // The process has ended already, or the system knows no priorities.
  }
}

type FoundBackups = Pick<BackupList, 'backups' | 'leftOut' | 'fault'>;

/** Does not block the thread, also if the folder is on a network drive that does not answer. */
function openBackupFolder(folder: string, origin: () => Origin) {
  let found: readonly BackupInSeries[] | undefined;

  async function read(): Promise<FoundBackups> {
    try {
      found = backupsOf(origin(), await listBackups(folder));
      const newestFirst = found.toReversed();
      const backups = newestFirst.slice(0, limits.ops.backupsShown).map(entryOf);
      return { backups, leftOut: newestFirst.length - backups.length, fault: null };
    } catch (error) {
      if (!isSystemError(error)) throw error;
      return nothing(`the folder cannot be read (${error.message})`);
    }
  }

  const readAgain = () => reused(read, limits.ops.backupsEveryMs);
  let recent = readAgain();
  return {
    /** Of the last look, oldest first; undefined before the first. */
    get found() {
      return found;
    },
    /** @returns what was found in the last `limits.ops.backupsEveryMs` */
    look(): Promise<FoundBackups> {
      const late = nothing('the folder does not answer');
      return Promise.race([recent(), delay(limits.ops.backupsMs, late, { ref: false })]);
    },
    forget(): void {
      recent = readAgain();
    },
  };
}

function nothing(fault: string): FoundBackups {
  return { backups: [], leftOut: 0, fault };
}

function entryOf({ file, at, manifest }: BackupInSeries): ListedBackup {
  const { createdAt = at.toISOString(), plants = null, bytes = null } = manifest ?? {};
  return { file, createdAt, plants, bytes, fault: manifest ? null : 'the manifest is damaged' };
}
