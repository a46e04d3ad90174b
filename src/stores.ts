import type { Stats } from 'node:fs';
import type { OnProgress, StoreFault, StoreFigures } from './store/inspection.ts';
import type { PostgresLocation, SqliteLocation, StoreLocation } from './store/location.ts';
import type { DatabaseCondition } from './store/postgres/condition.ts';
import type { ScratchSchema } from './store/postgres/scratch.ts';
import type { PostgresOpenOptions } from './store/postgres/store.ts';
import { type ClaimedStore, claimSqliteStore } from './store/sqlite/claim.ts';
import { conditionOfSqlite, type FileCondition, sqliteLog } from './store/sqlite/condition.ts';
import { copySqliteStore, inspectSqliteBackup, inspectSqliteStore } from './store/sqlite/copy.ts';
import { openSqliteReader } from './store/sqlite/reader.ts';
import { sealSqliteStore } from './store/sqlite/snapshot.ts';
import { joinSqliteStore, openSqliteStore } from './store/sqlite/store.ts';
import { outdatedSchemaOfSqlite, upgradeSqlite } from './store/sqlite/upgrade.ts';
import type { CommitPromise, SharedStore, Store, StoreReader, StoreShare } from './store/store.ts';

export type { DatabaseCondition } from './store/postgres/condition.ts';
export { type FileCondition, hasWalResetBug } from './store/sqlite/condition.ts';

/** Only those who use it wait for it to be loaded. */
const postgres = () => import('./store/postgres/store.ts');

/**
 * Opens the store that `--store` names, for reading and writing. If there is none, this makes one,
 * and `isNew` says so: `serve`, `restore` and `copy` may do that, and tell the operator.
 *
 * @param callMs how long a call may take, and a write wait for another process to finish its own
 * @param acceptsLostCommits whether a database will do that may lose what it has committed: a
 * question for those who create plants
 * @throws StoreOpenError, StoreError
 */
export function openStore(
  location: StoreLocation,
  callMs: number,
  acceptsLostCommits = true,
): Promise<SharedStore> {
  return open(location, { callMs, acceptsLostCommits, mayMake: true });
}

/** Opens a store as `openStore` does. @throws StoreOpenError, also if there is none; StoreError */
export function openExistingStore(
  location: StoreLocation,
  callMs: number,
  acceptsLostCommits = true,
): Promise<SharedStore> {
  return open(location, { callMs, acceptsLostCommits, mayMake: false });
}

async function open(location: StoreLocation, options: PostgresOpenOptions): Promise<SharedStore> {
  if (location.engine === 'sqlite')
    return openSqliteStore(location.path, options.callMs, options.mayMake);
  return (await postgres()).openPostgresStore(location, options);
}

/**
 * The version of the store's schema, if an earlier version of the program has made it. @throws
 * StoreOpenError
 */
export function outdatedSchemaOf(location: SqliteLocation): number | undefined {
  return outdatedSchemaOfSqlite(location.path);
}

/**
 * Leads the schema of a store that an earlier version has made to this one's. @throws
 * StoreOpenError
 */
export function upgradeStore(location: SqliteLocation): void {
  upgradeSqlite(location.path);
}

/**
 * The store that another thread has opened and shared. It is to be closed before that thread closes
 * its own.
 */
export async function joinStore(
  location: StoreLocation,
  { port, measures }: StoreShare,
  callMs: number,
  acceptsLostCommits: boolean,
): Promise<Store> {
  if (location.engine === 'sqlite') return joinSqliteStore(location.path, demanded(port));
  return (await postgres()).joinPostgresStore(location, demanded(measures), {
    callMs,
    acceptsLostCommits,
  });
}

function demanded<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('what was shared is of another engine');
  return part;
}

/**
 * Opens the store for reading.
 *
 * @param readMs how long a read may take where another machine answers it
 * @throws StoreOpenError if there is none, StoreError
 */
export async function openReader(location: StoreLocation, readMs: number): Promise<StoreReader> {
  if (location.engine === 'sqlite') return openSqliteReader(location.path);
  return (await postgres()).openPostgresReader(location, readMs);
}

/**
 * Reads back what is in force in the store, and leaves it as it is. @throws StoreOpenError,
 * StoreError
 */
export function conditionOf(location: SqliteLocation): FileCondition {
  return conditionOfSqlite(location.path);
}

/** The same of a database. @throws StoreOpenError, StoreError */
export async function databaseConditionOf(location: PostgresLocation): Promise<DatabaseCondition> {
  const { conditionOfPostgres } = await import('./store/postgres/condition.ts');
  return conditionOfPostgres(location);
}

/** What a commit in a database promises. @throws StoreError */
export async function databasePromise(location: PostgresLocation): Promise<CommitPromise> {
  return (await import('./store/postgres/scratch.ts')).promiseOfPostgres(location);
}

/**
 * Makes a place in a database for a store that nobody else uses. @throws StoreOpenError, StoreError
 */
export async function makeScratchSchema(location: PostgresLocation): Promise<ScratchSchema> {
  return (await import('./store/postgres/scratch.ts')).makeScratchSchema(location);
}

/**
 * The store's log, undefined if there is none: what has been committed and is not in its file yet.
 */
export function storeLog(location: SqliteLocation): Stats | undefined {
  return sqliteLog(location.path);
}

/**
 * Copies the store as it is at one moment into the new file `copyPath`, also while servers are
 * writing to it.
 *
 * @throws StoreError
 */
export function copyStore(
  location: SqliteLocation,
  copyPath: string,
  onProgress: OnProgress,
): Promise<void> {
  return copySqliteStore(location.path, copyPath, onProgress);
}

/** Makes a store that nobody has open one plain file, as `copyStore` does, and syncs it. */
export function sealStore(location: SqliteLocation): void {
  sealSqliteStore(location.path);
}

/**
 * Checks the store and counts what is in it, also while servers are writing to it.
 *
 * @param readMs how long a read may take where another machine answers it
 * @throws StoreOpenError, StoreError
 */
export async function inspectStore(
  location: StoreLocation,
  readMs: number,
  onProgress: OnProgress,
): Promise<StoreFigures | StoreFault> {
  if (location.engine === 'sqlite') return inspectSqliteStore(location.path, onProgress);
  return (await import('./store/postgres/inspection.ts')).inspectPostgres(
    location,
    readMs,
    onProgress,
  );
}

/** The same for a file that `copyStore` has made, or for any other. @throws StoreError */
export function inspectBackup(
  path: string,
  onProgress: OnProgress,
): Promise<StoreFigures | StoreFault> {
  return inspectSqliteBackup(path, onProgress);
}

/**
 * Keeps all other processes from the store that is to be replaced, also if there is none yet.
 *
 * @throws StoreOpenError if another process has it open, or it holds plants and may not
 */
export function claimStore(location: SqliteLocation, mayHoldPlants: boolean): ClaimedStore {
  return claimSqliteStore(location.path, mayHoldPlants);
}
