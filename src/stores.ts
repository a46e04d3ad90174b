import type { Stats } from 'node:fs';
import type { MessagePort } from 'node:worker_threads';
import type { StoreLocation } from './config/values.ts';
import type { OnProgress, StoreFault, StoreFigures } from './store/inspection.ts';
import { type ClaimedStore, claimSqliteStore } from './store/sqlite/claim.ts';
import { conditionOfSqlite, sqliteLog } from './store/sqlite/condition.ts';
import { copySqliteStore, inspectSqliteBackup, inspectSqliteStore } from './store/sqlite/copying.ts';
import { prepareSqliteFolder } from './store/sqlite/database.ts';
import { openSqliteReader } from './store/sqlite/reader.ts';
import { joinSqliteStore, openSqliteStore } from './store/sqlite/store.ts';
import { surveySqlite, upgradeSqlite } from './store/sqlite/upgrade.ts';
import type { SharedStore, Store, StoreCondition, StoreReader, StoreSurvey } from './store/store.ts';

export { hasWalResetBug } from './store/sqlite/condition.ts';

/**
 * Opens the store that `--store` names, for reading and writing, and makes it if there is none.
 *
 * @param lockMs how long a write waits for another process to finish its own
 * @throws StoreOpenError
 */
export function openStore(location: StoreLocation, lockMs: number): Promise<SharedStore> {
  return openSqliteStore(location.path, lockMs);
}

/** Looks at the store before a service starts on it. @returns undefined if there is none. @throws StoreOpenError */
export function surveyStore(location: StoreLocation): StoreSurvey | undefined {
  return surveySqlite(location.path);
}

/** Leads the schema of a store that an earlier version has made to this one's. @throws StoreOpenError */
export function upgradeStore(location: StoreLocation): void {
  upgradeSqlite(location.path);
}

/** Makes the folder that the store is to be in. @throws StoreOpenError */
export function prepareFolder(location: StoreLocation): void {
  prepareSqliteFolder(location.path);
}

/** The store that another thread has opened and shared. It is to be closed before that thread closes its own. */
export function joinStore(location: StoreLocation, share: MessagePort): Store {
  return joinSqliteStore(location.path, share);
}

/** Opens the store for reading. @throws StoreOpenError if there is none */
export function openReader(location: StoreLocation): StoreReader {
  return openSqliteReader(location.path);
}

/** Reads back what is in force in the store, and leaves it as it is. @throws StoreOpenError, StoreError */
export function conditionOf(location: StoreLocation): StoreCondition {
  return conditionOfSqlite(location.path);
}

/** The store's log, undefined if there is none: what has been committed and is not in its file yet. */
export function storeLog(location: StoreLocation): Stats | undefined {
  return sqliteLog(location.path);
}

/**
 * Copies the store as it is at one moment into the new file `copyPath`, also while servers are writing to it.
 *
 * @throws StoreError
 */
export function copyStore(location: StoreLocation, copyPath: string, onProgress: OnProgress): Promise<void> {
  return copySqliteStore(location.path, copyPath, onProgress);
}

/** Checks the store and counts what is in it, also while servers are writing to it. @throws StoreError */
export function inspectStore(location: StoreLocation, onProgress: OnProgress): Promise<StoreFigures | StoreFault> {
  return inspectSqliteStore(location.path, onProgress);
}

/** The same for a file that `copyStore` has made, or for any other. @throws StoreError */
export function inspectBackup(path: string, onProgress: OnProgress): Promise<StoreFigures | StoreFault> {
  return inspectSqliteBackup(path, onProgress);
}

/**
 * Keeps all other processes from the store that is to be replaced, also if there is none yet.
 *
 * @throws StoreOpenError if another process has it open, or it holds plants and may not
 */
export function claimStore(location: StoreLocation, mayHoldPlants: boolean): ClaimedStore {
  return claimSqliteStore(location.path, mayHoldPlants);
}
