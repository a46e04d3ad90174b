import { existsSync, realpathSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { withoutLinks } from '../../disk/files.ts';
import type { PlantComparison } from '../comparison.ts';
import { demandShared, type Engine } from '../engine.ts';
import type { OnProgress, StoreFault, StoreFigures } from '../inspection.ts';
import { firstTokenName, type SqliteLocation, sqliteCompanions } from '../location.ts';
import type { CompletedCopy, Diagnosis } from '../repair.ts';
import type { ClaimedStore } from './claim.ts';
import type { UnreadWal } from './unread-wal.ts';

/** What only a store in a file has. */
export interface SqliteEngine extends Engine {
  walBytes(): number;
  /** The file of the WAL; undefined if there is none. */
  wal(): Stats | undefined;
  /** Checks a backup, or any other file, and counts its plants. @throws StoreError */
  inspectBackup(onProgress: OnProgress): Promise<StoreFigures | StoreFault>;
  /** Adds an increment to a copy of its base, as `backUp` would have made it. @throws StoreError */
  addIncrement(increment: string): Promise<void>;
  /**
   * Compares each plant of a backup with the store, also while services write.
   *
   * @param parts the files of the backup, which have been checked
   * @throws StoreOpenError, StoreError
   */
  compare(parts: readonly string[], onProgress: OnProgress): Promise<PlantComparison | StoreFault>;
  /** What is wrong with the pages and the schema, a line each. @throws StoreOpenError, StoreError */
  pageFaults(): Promise<readonly string[]>;
  /**
   * Examines a store that this process has claimed, or a plain file.
   *
   * @param parts the files of a backup
   * @throws StoreError
   */
  diagnose(parts: readonly string[], onProgress: OnProgress): Promise<Diagnosis>;
  /** Adds to the copy of a backup what only this claimed store holds. @throws StoreError */
  completeCopy(copy: string, diagnosis: Diagnosis, onProgress: OnProgress): Promise<CompletedCopy>;
  /** Turns a store that no connection has open into one plain, synced file, as `backUp` does. */
  seal(): Promise<void>;
  /**
   * Locks out all other processes, also if there is no store yet.
   *
   * @throws StoreOpenError if the store is open elsewhere, or holds plants and may not
   */
  claim(mayHoldPlants: boolean): Promise<ClaimedStore>;
  /**
   * What SQLite cannot read of the WAL. Call it before the store is opened.
   *
   * @throws StoreOpenError
   */
  examineWal(): Promise<UnreadWal | undefined>;
  /** The schema version that an earlier program has made. @throws StoreOpenError */
  outdatedSchema(): Promise<number | undefined>;
  /** Migrates the schema to the version of this program. @throws StoreOpenError */
  upgrade(): Promise<void>;
}

/** Modules are loaded on use: a short command loads no store. */
export function sqliteEngine({ path }: SqliteLocation): SqliteEngine {
  const firstTokenFile = join(dirname(path), firstTokenName);
  const stores = () => import('./store.ts');
  const tasks = () => import('./tasks.ts');
  const upgrades = () => import('./upgrade.ts');
  /** SQLite keeps the WAL beside the target of a link. */
  const wal = () =>
    existsSync(path)
      ? statSync(`${realpathSync.native(path)}-wal`, { throwIfNoEntry: false })
      : undefined;
  return {
    dbSystem: 'sqlite',
    text: `sqlite:${path}`,
    wholeText: `sqlite:${resolve(path)}`,
    name: resolve(path),
    file: path,
    firstTokenFile,
    backupName: basename(path, extname(path)),
    files() {
      // SQLite keeps its files beside the target of a link.
      const database = withoutLinks(path);
      return [database, ...sqliteCompanions.map((ending) => database + ending), firstTokenFile];
    },
    walBytes: () => wal()?.size ?? 0,
    open: async ({ callMs, mayMake }) => (await stores()).openSqliteStore(path, callMs, mayMake),
    join: async ({ port }) => (await stores()).joinSqliteStore(path, demandShared(port)),
    openReader: async () => (await import('./reader.ts')).openSqliteReader(path),
    inspect: async (_, onProgress) =>
      (await tasks()).runTask({ task: 'read the store', path }, onProgress),
    backUp: async (copyPath, onProgress) =>
      (await tasks()).runTask({ task: 'copy the store', storePath: path, copyPath }, onProgress),
    increments: {
      count: async (base, madeAtMs) =>
        (await tasks()).runTask(
          { task: 'count the new plants', storePath: path, base, madeAtMs },
          () => undefined,
        ),
      copy: async (base, copyPath, onProgress) =>
        (await tasks()).runTask(
          { task: 'copy the new plants', storePath: path, base, copyPath },
          onProgress,
        ),
    },
    wal,
    inspectBackup: async (onProgress) =>
      (await tasks()).runTask({ task: 'read the file', path }, onProgress),
    addIncrement: async (increment) =>
      (await tasks()).runTask({ task: 'add the new plants', path, increment }, () => undefined),
    compare: async (parts, onProgress) =>
      (await tasks()).runTask({ task: 'compare the store', path, parts }, onProgress),
    pageFaults: async () =>
      (await tasks()).runTask({ task: 'check the pages', path }, () => undefined),
    diagnose: async (parts, onProgress) =>
      (await tasks()).runTask({ task: 'examine the store', path, parts }, onProgress),
    completeCopy: async (copy, diagnosis, onProgress) =>
      (await tasks()).runTask(
        { task: 'complete the copy', copy, damaged: path, diagnosis },
        onProgress,
      ),
    seal: async () => (await import('./backup.ts')).sealBackup(path),
    claim: async (mayHoldPlants) =>
      (await import('./claim.ts')).claimSqliteStore(path, mayHoldPlants),
    examineWal: async () =>
      wal() === undefined ? undefined : (await import('./database.ts')).examineWalOf(path),
    outdatedSchema: async () => (await upgrades()).outdatedSchemaOfSqlite(path),
    upgrade: async () => (await upgrades()).upgradeSqlite(path),
  };
}
