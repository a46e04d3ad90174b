import { readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { ageText } from '../../age-text.ts';
import { fileSystemOf } from '../../disk/file-system.ts';
import { obstacleTo } from '../../disk/obstacle.ts';
import { limits } from '../../limits.ts';
import { sizeText } from '../../size-text.ts';
import { StoreError, StoreOpenError } from '../../store/errors.ts';
import { damagedWalMark, type SqliteLocation } from '../../store/location.ts';
import { commandFor, type FileCondition, sqliteEngine } from '../../stores.ts';
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
import { jobs, lastBackup, plants, tokens } from './store-checks.ts';
import { hasWalResetBug } from './wal-reset-bug.ts';

interface Setting extends StoreFile {
  /** Undefined without a store, and at the start of the service. */
  readonly condition?: FileCondition | StoreOpenError | StoreError | undefined;
}

interface SqliteCheck extends Check<Setting> {
  /**
   * At the start of the service: `demand` refuses to start on an error, `warn` only warns, `skip`
   * leaves the check out. A check at the start takes microseconds and opens nothing.
   */
  readonly atStart: 'demand' | 'warn' | 'skip';
}

/** Every check, in the order of the lines. */
const checks: readonly SqliteCheck[] = [
  { name: 'SQLite', atStart: 'demand', find: sqliteVersion },
  { name: 'user', atStart: 'warn', find: user },
  { name: 'descriptors', atStart: 'skip', find: descriptors },
  { name: 'clock', atStart: 'warn', find: clock },
  { name: 'file system', atStart: 'demand', find: fileSystemType },
  { name: 'free space', atStart: 'warn', find: freeSpace },
  { name: 'free inodes', atStart: 'warn', find: freeInodes },
  { name: 'folder', atStart: 'skip', find: folder },
  { name: 'file', atStart: 'warn', find: file },
  { name: 'last write', atStart: 'skip', find: lastWrite },
  { name: 'log', atStart: 'skip', find: log },
  { name: 'damaged log', atStart: 'warn', find: damagedLog },
  { name: 'schema', atStart: 'skip', find: schema },
  { name: 'journal mode', atStart: 'skip', find: journalMode },
  { name: 'synchronous', atStart: 'skip', find: synchronous },
  { name: 'plants', atStart: 'skip', find: plantsOf },
  { name: 'last backup', atStart: 'skip', find: lastBackupOf },
  { name: 'jobs', atStart: 'skip', find: jobsOf },
  { name: 'tokens', atStart: 'skip', find: tokensOf },
];

/** Does every check, without changing the store. @throws CommandError without permission */
export async function checkSqlite(
  location: SqliteLocation,
  userId: number | undefined,
): Promise<NamedFinding[]> {
  const setting = settingOf(location, userId);
  const condition = setting.file && (await readCondition(location));
  return findings(checks, { ...setting, condition });
}

/**
 * Does the checks of a start, in a millisecond.
 *
 * @returns warnings
 * @throws CommandError if the service must not start
 */
export function checkSqliteStart(
  location: SqliteLocation,
  userId: number | undefined,
): NamedFinding[] {
  const setting = settingOf(location, userId);
  const found = (when: SqliteCheck['atStart']) =>
    findings(
      checks.filter(({ atStart }) => atStart === when),
      setting,
    ).filter(({ level }) => level !== 'ok');
  const demanded = found('demand');
  const fault = demanded.find(({ level }) => level === 'error');
  if (fault) throw new CommandError(`${fault.name}: ${fault.says}`);
  return [...demanded, ...found('warn')];
}

function settingOf(location: SqliteLocation, userId: number | undefined): Setting {
  return {
    location,
    folder: dirname(resolve(location.path)),
    ...lookAt(location.path),
    userId,
    nowMs: Date.now(),
  };
}

function lookAt(path: string): Pick<Setting, 'file' | 'fileSystem'> {
  try {
    return { file: statSync(path, { throwIfNoEntry: false }), fileSystem: fileSystemOf(path) };
  } catch (cause) {
    const obstacle =
      obstacleTo(path) ?? `${(cause as Error).message}; run this as the owner of the store`;
    throw new CommandError(`cannot look at the store at ${resolve(path)}: ${obstacle}`, { cause });
  }
}

function readCondition(location: SqliteLocation): Promise<Setting['condition']> {
  return sqliteEngine(location)
    .condition()
    .catch((error) => {
      if (error instanceof StoreOpenError || error instanceof StoreError) return error;
      throw error;
    });
}

function sqliteVersion(): Finding {
  const { sqlite = '0' } = process.versions;
  if (!hasWalResetBug(sqlite)) return ok(`version ${sqlite}`);
  return error(
    `version ${sqlite} may damage the store when two processes write to it (the WAL-reset bug)`,
    'run the Node that "npm ci" installs, or a Node with SQLite 3.51.3 or later',
  );
}

function lastWrite(setting: Setting): Finding | undefined {
  const { location, file: stats, nowMs } = setting;
  if (stats === undefined) return undefined;
  const writtenMs = Math.max(stats.mtimeMs, sqliteEngine(location).wal()?.mtimeMs ?? 0);
  const figure = `${new Date(writtenMs).toISOString()}, by the times of the store's file and WAL`;
  if (nowMs >= writtenMs - limits.cli.clockBehindMs) return ok(figure + lastBeat(setting));
  return warning(
    `${figure}, is in the future`,
    'set the clock, preferably by a time server; plants may have wrong times',
  );
}

/** The files of a restored store are new. */
function lastBeat(setting: Setting): string {
  const beatMs = conditionIn(setting)?.lastBeatMs;
  if (beatMs === undefined) return '';
  const ago = ageText(Math.max(0, setting.nowMs - beatMs));
  return `; the last heartbeat of a service was ${ago} ago, at ${new Date(beatMs).toISOString()}`;
}

function log({ location, file: stats }: Setting): Finding | undefined {
  if (stats === undefined) return undefined;
  const bytes = sqliteEngine(location).walBytes();
  if (bytes <= limits.sqlite.walBytesHigh) return ok(sizeText(bytes));
  const remedy =
    'look for a program that has been reading the store for long, such as a backup or Litestream: a reader holds the WAL';
  if (bytes < limits.sqlite.walBytesMax)
    return warning(`${sizeText(bytes)}, which is more than the usual size`, remedy);
  return error(`${sizeText(bytes)}: creates get 503 until the reader ends`, remedy);
}

/** Copies of WALs that SQLite could not read to their end. */
function damagedLog({ location, folder, file: stats }: Setting): Finding | undefined {
  if (stats === undefined) return undefined;
  const beginning = `${basename(location.path)}-wal${damagedWalMark}`;
  const kept = readdirSync(folder).filter((name) => name.startsWith(beginning));
  if (kept.length === 0) return undefined;
  return warning(
    `${kept.map((name) => join(folder, name)).join(', ')}: plants that were answered with 200 may be missing`,
    `let clients send their last creates again, compare the store with a backup (${commandFor(location, 'verify --against BACKUP')}), and then remove the file`,
  );
}

/** Says why the store cannot be opened. Then the checks after this one do not apply. */
function schema({ location, file: stats, condition: found }: Setting): Finding {
  const { path } = location;
  const obstacle = stats === undefined ? obstacleTo(path) : undefined;
  if (obstacle !== undefined)
    return { level: 'error', says: `there is no store at ${resolve(path)}: ${obstacle}` };
  if (found === undefined)
    return ok(
      `there is no store at ${resolve(path)} yet; ${commandFor(location, 'serve')} makes the store`,
    );
  // The message names the way out.
  if (found instanceof StoreOpenError) return { level: 'error', says: found.message };
  if (found instanceof StoreError)
    return error(
      `the store cannot be read (${found.message})`,
      `find the damage with ${commandFor(location, 'verify')}, and restore a backup`,
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
    `${found.journalMode}, the mode of a backup; the service changes the mode to wal when it starts`,
  );
}

/** sqlite.org/pragma.html#pragma_synchronous. EXTRA syncs more than FULL. */
const synchronousLevels = ['OFF', 'NORMAL', 'FULL', 'EXTRA'];

function synchronous(setting: Setting): Finding | undefined {
  const found = conditionIn(setting);
  if (found === undefined) return undefined;
  const level = `${synchronousLevels[found.synchronous]} (${found.synchronous})`;
  if (found.synchronous >= synchronousLevels.indexOf('FULL'))
    return ok(`${level}: a commit returns after the sync`);
  return error(
    `${level}: a commit returns before the sync`,
    'this SQLite ignores its setting; run the Node that "npm ci" installs',
  );
}

function plantsOf(setting: Setting): Finding | undefined {
  const found = conditionIn(setting);
  return found && plants(found, setting.location);
}

function lastBackupOf(setting: Setting): Finding | undefined {
  const found = conditionIn(setting);
  if (found?.firstId === undefined) return undefined;
  return lastBackup(
    found.backups,
    setting.nowMs,
    `make one with ${commandFor(setting.location, 'backup DEST')}, on another disk`,
    false,
  );
}

function jobsOf(setting: Setting): Finding | undefined {
  const found = conditionIn(setting);
  return found && jobs(found.jobs, setting.nowMs);
}

function tokensOf(setting: Setting): Finding | undefined {
  const found = conditionIn(setting);
  return found && tokens(found.liveTokens, setting.nowMs, setting.location);
}

function conditionIn({ condition }: Setting): FileCondition | undefined {
  return condition instanceof Error ? undefined : condition;
}
