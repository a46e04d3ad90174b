import { accessSync, constants, type Stats, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DescriptorsError, withinDescriptors } from '../descriptors.ts';
import { type FileSystem, type FileSystemKind, fileSystemOf, nearestExisting } from '../file-system.ts';
import { limits } from '../limits.ts';
import type { SqliteLocation } from '../store/location.ts';
import { type StoreCondition, StoreError, StoreOpenError } from '../store/store.ts';
import { conditionOf, hasWalResetBug, storeLog } from '../stores.ts';
import { CommandError } from './command.ts';

/** What a check has found: what is there, with its figure, and, if it is not as it should be, what to do about it. */
interface Finding {
  readonly level: 'ok' | 'warning' | 'error';
  readonly says: string;
}

/** What is asked before the checks, once. */
interface Setting {
  readonly location: SqliteLocation;
  readonly folder: string;
  /** Undefined if there is no store yet. */
  readonly file: Stats | undefined;
  readonly fileSystem: FileSystem;
  /** Undefined on Windows. */
  readonly userId: number | undefined;
  readonly nowMs: number;
  /** The store is only opened by the checks that need it. */
  readonly condition: () => StoreCondition | StoreOpenError | StoreError;
}

interface Check {
  readonly name: string;
  /**
   * Whether it is done at each start of the service, where it may open nothing and costs microseconds, and whether an error
   * keeps the service from starting. Where it does not, a start is no worse than to go on.
   */
  readonly atStart: 'demanded' | 'warned of' | 'left out';
  /** @returns undefined if there is nothing to check */
  readonly find: (setting: Setting) => Finding | undefined;
}

/** Every check, in the order of the lines. */
const checks: readonly Check[] = [
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
  { name: 'plants', atStart: 'left out', find: plants },
  { name: 'last backup', atStart: 'left out', find: lastBackup },
];

export type NamedFinding = Finding & { readonly name: string };

/** Does every check. The store is opened if it is there, and is left as it is. @throws CommandError if it cannot be looked at */
export function checkAll(location: SqliteLocation, userId: number | undefined): NamedFinding[] {
  return findings(checks, settingOf(location, userId));
}

/**
 * Does the checks of a start, in a millisecond.
 *
 * @returns what is to be warned of
 * @throws CommandError if the service must not be started on this
 */
export function checkStart(location: SqliteLocation, userId: number | undefined): NamedFinding[] {
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

function findings(some: readonly Check[], setting: Setting): NamedFinding[] {
  return some.flatMap(({ name, find }) => {
    const finding = find(setting);
    return finding === undefined ? [] : [{ ...finding, name }];
  });
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
    throw new CommandError(`cannot look at ${path} (${(cause as Error).message}); run this as the user that the store belongs to`, {
      cause,
    });
  }
}

function readCondition(location: SqliteLocation): ReturnType<Setting['condition']> {
  try {
    return conditionOf(location);
  } catch (error) {
    if (error instanceof StoreOpenError || error instanceof StoreError) return error;
    throw error;
  }
}

function ok(figure: string): Finding {
  return { level: 'ok', says: figure };
}

function warning(figure: string, remedy: string): Finding {
  return { level: 'warning', says: `${figure}; ${remedy}` };
}

function error(figure: string, remedy: string): Finding {
  return { level: 'error', says: `${figure}; ${remedy}` };
}

function sqliteVersion(): Finding {
  const { sqlite = '0' } = process.versions;
  if (!hasWalResetBug(sqlite)) return ok(`version ${sqlite}`);
  return error(
    `version ${sqlite} may damage the store when two processes write to it (the WAL-reset bug)`,
    'run the Node that "npm ci" brings along, or one with SQLite 3.51.3 or later',
  );
}

function user({ userId }: Setting): Finding | undefined {
  if (userId === undefined) return undefined;
  if (userId !== 0) return ok(`${userId}`);
  return warning('the program runs as root, which it does not need', 'run it as a user of its own');
}

function descriptors(): Finding {
  try {
    const { connectionsMax, threadCount } = withinDescriptors({ httpThreads: 'auto', connectionsMax: 'auto', opsPort: 0 });
    return ok(`enough for ${connectionsMax} connections on ${threadCount} ${threadCount === 1 ? 'thread' : 'threads'}`);
  } catch (cause) {
    if (!(cause instanceof DescriptorsError)) throw cause;
    return error(cause.message, 'the limit is that of the shell or supervisor that starts the service');
  }
}

/** The year in which this was first released: a clock that is before it was never set. */
const releaseMs = Date.UTC(2026, 0);

function clock({ nowMs }: Setting): Finding {
  const now = new Date(nowMs).toISOString();
  if (nowMs >= releaseMs) return ok(`it is ${now}`);
  return error(`it is ${now}, which cannot be: times of plants and tokens would be wrong`, 'set the clock, best by a time server');
}

const onFileSystem: Readonly<Record<FileSystemKind, (name: string) => Finding>> = {
  disk: ok,
  network: (name) =>
    error(
      `${name} is shared by machines, and SQLite's locks and shared memory do not reach across them`,
      'name a store on a local disk with --store',
    ),
  memory: (name) =>
    warning(`${name} is memory: what was answered with 200 is gone after a power cut`, 'name a store on a disk with --store'),
  overlay: (name) => warning(`${name} is a layer over others, as a container's own, which goes with it`, 'mount a volume for the store'),
  'passed on': (name) =>
    warning(
      `${name} is passed on to another program or the host, and only that knows whether a sync reaches a disk`,
      'name a store on a local disk with --store, or find out what is behind it',
    ),
};

function fileSystemType({ fileSystem: { type } }: Setting): Finding {
  if (type) return onFileSystem[type.kind](type.name);
  return ok(process.platform === 'linux' ? 'none of those that are known to be unfit' : 'its type is only known on Linux');
}

function freeSpace({ fileSystem: { bytes, freeBytes } }: Setting): Finding | undefined {
  if (bytes === 0) return undefined;
  const percent = (100 * freeBytes) / bytes;
  const figure = `${sizeText(freeBytes)} are free, ${percent.toFixed(0)} % of ${sizeText(bytes)}`;
  const remedy = 'make room, or name a store on a larger disk with --store; without room, creates get 503';
  if (freeBytes < limits.freeBytesMin) return error(figure, remedy);
  const isLow = freeBytes < limits.freeBytesLow || (percent < limits.freePercentLow && freeBytes < limits.freeBytesPlenty);
  return isLow ? warning(figure, remedy) : ok(figure);
}

function freeInodes({ fileSystem: { inodes, freeInodes: free } }: Setting): Finding | undefined {
  if (inodes === 0) return undefined;
  const figure = `${free} more files can be made there`;
  const remedy = 'remove files, or name a store on another disk with --store';
  if (free < limits.freeInodesMin) return error(figure, remedy);
  return free < limits.freeInodesLow ? warning(figure, remedy) : ok(figure);
}

function folder({ folder: path }: Setting): Finding {
  const existing = nearestExisting(path);
  const isThere = existing === path;
  if (!statSync(existing).isDirectory()) return error(`${existing} is not a folder`, 'move it away, or choose another store with --store');
  if (!isAllowed(existing, constants.W_OK | constants.X_OK)) {
    return error(
      `no files can be made in ${existing}`,
      'give it to the user that the service runs as, on a disk that is mounted for writing',
    );
  }
  return ok(isThere ? `files can be made in ${path}` : `${path} can be made in ${existing}`);
}

function file({ location: { path }, file: stats, userId }: Setting): Finding | undefined {
  if (stats === undefined || userId === undefined) return undefined;
  const mode = (stats.mode & 0o777).toString(8).padStart(4, '0');
  const figure = `${path} has mode ${mode} and belongs to user ${stats.uid}`;
  if (!isAllowed(path, constants.R_OK | constants.W_OK)) return error(`${figure}: it cannot be written`, `give it to user ${userId}`);
  if (stats.uid !== userId) return warning(`${figure}, not to ${userId}`, 'run all commands as the user that the store belongs to');
  if ((stats.mode & 0o077) !== 0) return warning(`${figure}: others may read or write it`, `chmod 600 ${path}`);
  return ok(figure);
}

function lastWrite({ location, file: stats, nowMs }: Setting): Finding | undefined {
  if (stats === undefined) return undefined;
  const writtenMs = Math.max(stats.mtimeMs, storeLog(location)?.mtimeMs ?? 0);
  const figure = `${new Date(writtenMs).toISOString()}, by the times of the store's file and log`;
  if (nowMs >= writtenMs - limits.clockBehindMs) return ok(figure);
  return warning(`${figure}, is still to come`, 'set the clock, best by a time server; plants may have been given times that are wrong');
}

function log({ location, file: stats }: Setting): Finding | undefined {
  if (stats === undefined) return undefined;
  const bytes = storeLog(location)?.size ?? 0;
  if (bytes <= limits.logBytesHigh) return ok(sizeText(bytes));
  const remedy = 'look for a program that has been reading the store for long, such as a backup: it holds the log';
  if (bytes < limits.logBytesMax) return warning(`${sizeText(bytes)}, which is more than it should need`, remedy);
  return error(`${sizeText(bytes)}, so that creates get 503 until it can begin anew`, remedy);
}

/** Says why the store cannot be opened; the checks after it then have nothing to look at. */
function schema({ location: { path }, file: stats, condition }: Setting): Finding {
  if (stats === undefined) return ok(`there is no store at ${path} yet; "plant-store serve" makes one`);
  const found = condition();
  // Its message names the way out.
  if (found instanceof StoreOpenError) return { level: 'error', says: found.message };
  if (found instanceof StoreError)
    return error(`the store cannot be read (${found.message})`, 'see what is damaged with "plant-store verify", and restore a backup');
  return ok(`a plant store (application id 0x${found.applicationId.toString(16)}), schema ${found.schemaVersion}`);
}

function journalMode(setting: Setting): Finding | undefined {
  const found = conditionIn(setting);
  if (found === undefined) return undefined;
  if (found.journalMode === 'wal') return ok(found.journalMode);
  return ok(`${found.journalMode}, as a backup has it; the service changes it to wal when it starts`);
}

/** sqlite.org/pragma.html#pragma_synchronous; what is above FULL syncs no less. */
const synchronousLevels = ['OFF', 'NORMAL', 'FULL', 'EXTRA'];

function synchronous(setting: Setting): Finding | undefined {
  const found = conditionIn(setting);
  if (found === undefined) return undefined;
  const level = `${synchronousLevels[found.synchronous]} (${found.synchronous})`;
  if (found.synchronous >= synchronousLevels.indexOf('FULL')) return ok(`${level}: a commit returns after the sync`);
  return error(
    `${level}: a commit returns before the sync`,
    'this SQLite does not do as it is told; run the Node that "npm ci" brings along',
  );
}

function plants(setting: Setting): Finding | undefined {
  const found = conditionIn(setting);
  if (found === undefined) return undefined;
  if (found.firstId === undefined) return ok('there are none');
  return ok(`the first (${found.firstId}) and the last (${found.lastId}) can be read; "plant-store verify" reads all`);
}

function lastBackup(setting: Setting): Finding | undefined {
  const found = conditionIn(setting);
  if (found?.firstId === undefined) return undefined;
  const remedy = 'make one with "plant-store backup DEST", on another disk';
  if (found.lastBackup === undefined) return warning('there is none that the store knows of', remedy);
  const { file: path, finishedAtMs, plants: count } = found.lastBackup;
  const figure = `${new Date(finishedAtMs).toISOString()}, ${count} plants, at ${path}`;
  return setting.nowMs - finishedAtMs > limits.backupAgeMs ? warning(`${figure}: it is old`, remedy) : ok(figure);
}

function conditionIn({ file: stats, condition }: Setting): StoreCondition | undefined {
  const found = stats && condition();
  return found instanceof Error ? undefined : found;
}

function isAllowed(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    // Whatever the reason, it cannot be done.
    return false;
  }
}

/** `78 GiB`, `1.5 GiB`, `512 KiB`, `0 B`. */
export function sizeText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  const power = Math.min(units.length - 1, bytes > 0 ? Math.floor(Math.log2(bytes) / 10) : 0);
  const value = bytes / 1_024 ** power;
  return `${value < 10 && power > 0 ? value.toFixed(1) : value.toFixed(0)} ${units[power]}`;
}
