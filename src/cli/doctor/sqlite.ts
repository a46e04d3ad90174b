import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileSystemOf } from '../../disk/file-system.ts';
import { obstacleTo } from '../../disk/obstacle.ts';
import { limits } from '../../limits.ts';
import { sizeText } from '../../size-text.ts';
import { StoreError, StoreOpenError } from '../../store/errors.ts';
import type { SqliteLocation } from '../../store/location.ts';
import { type FileCondition, hasWalResetBug, sqliteEngine } from '../../stores.ts';
import { CommandError } from '../command.ts';
import {
  type Check,
  error,
  type Finding,
  findings,
  type NamedFinding,
  ok,
  warning,
} from './check.ts';
import {
  file,
  fileSystemType,
  folder,
  freeInodes,
  freeSpace,
  type StoreFile,
} from './disk-checks.ts';
import { clock, descriptors, user } from './machine-checks.ts';
import { lastBackup, plants } from './store-checks.ts';

/** What is asked before the checks, once. */
interface Setting extends StoreFile {
  /** The store is only opened by the checks that need it. */
  readonly condition: () => FileCondition | StoreOpenError | StoreError;
}

interface SqliteCheck extends Check<Setting> {
  /**
   * Whether it is done at each start of the service, where it may open nothing and costs
   * microseconds, and whether an error keeps the service from starting. Where it does not, a start
   * is no worse than to go on.
   */
  readonly atStart: 'demanded' | 'warned of' | 'left out';
}

/** Every check, in the order of the lines. */
const checks: readonly SqliteCheck[] = [
  { name: 'SQLite', atStart: 'demanded', find: sqliteVersion },
  { name: 'user', atStart: 'warned of', find: user },
  { name: 'descriptors', atStart: 'left out', find: descriptors },
  { name: 'clock', atStart: 'warned of', find: clock },
  { name: 'file system', atStart: 'demanded', find: fileSystemType },
  { name: 'free space', atStart: 'warned of', find: freeSpace },
  { name: 'free inodes', atStart: 'warned of', find: freeInodes },
  { name: 'folder', atStart: 'left out', find: folder },
  { name: 'file', atStart: 'warned of', find: file },
  { name: 'last write', atStart: 'left out', find: lastWrite },
  { name: 'log', atStart: 'left out', find: log },
  { name: 'schema', atStart: 'left out', find: schema },
  { name: 'journal mode', atStart: 'left out', find: journalMode },
  { name: 'synchronous', atStart: 'left out', find: synchronous },
  { name: 'plants', atStart: 'left out', find: plantsOf },
  { name: 'last backup', atStart: 'left out', find: lastBackupOf },
];

/**
 * Does every check. The store is opened if it is there, and is left as it is. @throws CommandError
 * if it cannot be looked at
 */
export function checkSqlite(location: SqliteLocation, userId: number | undefined): NamedFinding[] {
  return findings(checks, settingOf(location, userId));
}

/**
 * Does the checks of a start, in a millisecond.
 *
 * @returns what is to be warned of
 * @throws CommandError if the service must not be started on this
 */
export function checkSqliteStart(
  location: SqliteLocation,
  userId: number | undefined,
): NamedFinding[] {
  const setting = settingOf(location, userId);
  const demanded = findings(
    checks.filter(({ atStart }) => atStart === 'demanded'),
    setting,
  );
  const fault = demanded.find(({ level }) => level === 'error');
  if (fault) throw new CommandError(`${fault.name}: ${fault.says}`);
  const warnedOf = findings(
    checks.filter(({ atStart }) => atStart === 'warned of'),
    setting,
  );
  return [...demanded, ...warnedOf].filter(({ level }) => level !== 'ok');
}

function settingOf(location: SqliteLocation, userId: number | undefined): Setting {
  let known: ReturnType<Setting['condition']> | undefined;
  return {
    location,
    folder: dirname(resolve(location.path)),
    ...lookAt(location.path),
    userId,
    nowMs: Date.now(),
    condition() {
      known ??= readCondition(location);
      return known;
    },
  };
}

function lookAt(path: string): Pick<Setting, 'file' | 'fileSystem'> {
  try {
    return { file: statSync(path, { throwIfNoEntry: false }), fileSystem: fileSystemOf(path) };
  } catch (cause) {
    const obstacle =
      obstacleTo(path) ??
      `${(cause as Error).message}; run this as the user that the store belongs to`;
    throw new CommandError(`cannot look at the store at ${resolve(path)}: ${obstacle}`, { cause });
  }
}

function readCondition(location: SqliteLocation): ReturnType<Setting['condition']> {
  try {
    return sqliteEngine(location).condition();
  } catch (error) {
    if (error instanceof StoreOpenError || error instanceof StoreError) return error;
    throw error;
  }
}

function sqliteVersion(): Finding {
  const { sqlite = '0' } = process.versions;
  if (!hasWalResetBug(sqlite)) return ok(`version ${sqlite}`);
  return error(
    `version ${sqlite} may damage the store when two processes write to it (the WAL-reset bug)`,
    'run the Node that "npm ci" brings along, or one with SQLite 3.51.3 or later',
  );
}

function lastWrite({ location, file: stats, nowMs }: Setting): Finding | undefined {
  if (stats === undefined) return undefined;
  const writtenMs = Math.max(stats.mtimeMs, sqliteEngine(location).wal()?.mtimeMs ?? 0);
  const figure = `${new Date(writtenMs).toISOString()}, by the times of the store's file and log`;
  if (nowMs >= writtenMs - limits.cli.clockBehindMs) return ok(figure);
  return warning(
    `${figure}, is still to come`,
    'set the clock, best by a time server; plants may have been given times that are wrong',
  );
}

function log({ location, file: stats }: Setting): Finding | undefined {
  if (stats === undefined) return undefined;
  const bytes = sqliteEngine(location).walBytes();
  if (bytes <= limits.sqlite.logBytesHigh) return ok(sizeText(bytes));
  const remedy =
    'look for a program that has been reading the store for long, such as a backup: it holds the log';
  if (bytes < limits.sqlite.logBytesMax)
    return warning(`${sizeText(bytes)}, which is more than it should need`, remedy);
  return error(`${sizeText(bytes)}, so that creates get 503 until it can begin anew`, remedy);
}

/** Says why the store cannot be opened; the checks after it then have nothing to look at. */
function schema({ location: { path }, file: stats, condition }: Setting): Finding {
  const obstacle = stats === undefined ? obstacleTo(path) : undefined;
  if (obstacle !== undefined)
    return { level: 'error', says: `there is no store at ${resolve(path)}: ${obstacle}` };
  if (stats === undefined)
    return ok(`there is no store at ${resolve(path)} yet; "plant-store serve" makes one`);
  const found = condition();
  // Its message names the way out.
  if (found instanceof StoreOpenError) return { level: 'error', says: found.message };
  if (found instanceof StoreError)
    return error(
      `the store cannot be read (${found.message})`,
      'see what is damaged with "plant-store verify", and restore a backup',
    );
  return ok(
    `a plant store (application id 0x${found.applicationId.toString(16)}), schema ${found.schemaVersion}`,
  );
}

function journalMode(setting: Setting): Finding | undefined {
  const found = conditionIn(setting);
  if (found === undefined) return undefined;
  if (found.journalMode === 'wal') return ok(found.journalMode);
  return ok(
    `${found.journalMode}, as a backup has it; the service changes it to wal when it starts`,
  );
}

/** sqlite.org/pragma.html#pragma_synchronous; what is above FULL syncs no less. */
const synchronousLevels = ['OFF', 'NORMAL', 'FULL', 'EXTRA'];

function synchronous(setting: Setting): Finding | undefined {
  const found = conditionIn(setting);
  if (found === undefined) return undefined;
  const level = `${synchronousLevels[found.synchronous]} (${found.synchronous})`;
  if (found.synchronous >= synchronousLevels.indexOf('FULL'))
    return ok(`${level}: a commit returns after the sync`);
  return error(
    `${level}: a commit returns before the sync`,
    'this SQLite does not do as it is told; run the Node that "npm ci" brings along',
  );
}

function plantsOf(setting: Setting): Finding | undefined {
  const found = conditionIn(setting);
  return found && plants(found);
}

function lastBackupOf(setting: Setting): Finding | undefined {
  const found = conditionIn(setting);
  if (found?.firstId === undefined) return undefined;
  return lastBackup(
    found.lastBackup,
    setting.nowMs,
    'make one with "plant-store backup DEST", on another disk',
  );
}

function conditionIn({ file: stats, condition }: Setting): FileCondition | undefined {
  const found = stats && condition();
  return found instanceof Error ? undefined : found;
}
