import { existsSync, realpathSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { withoutLinks } from '../../disk/files.ts';
import { demandShared, type Engine } from '../engine.ts';
import type { OnProgress, StoreFault, StoreFigures } from '../inspection.ts';
import { firstTokenName, type SqliteLocation, sqliteCompanions } from '../location.ts';
import { sealBackup } from './backup.ts';
import { type ClaimedStore, claimSqliteStore } from './claim.ts';
import { conditionOfSqlite, type FileCondition } from './condition.ts';
import { openSqliteReader } from './reader.ts';
import { joinSqliteStore, openSqliteStore } from './store.ts';
import { runTask } from './tasks.ts';
import { outdatedSchemaOfSqlite, upgradeSqlite } from './upgrade.ts';

/** What only a store in a file has. */
export interface SqliteEngine extends Engine {
  /** What is in force in the file. @throws StoreOpenError, StoreError */
  condition(): FileCondition;
  walBytes(): number;
  /** The file of the WAL; undefined if there is none. */
  wal(): Stats | undefined;
  /** Checks a backup, or any other file, and counts its plants. @throws StoreError */
  inspectBackup(onProgress: OnProgress): Promise<StoreFigures | StoreFault>;
  /** Turns a store that no connection has open into one plain, synced file, as `backUp` does. */
  seal(): void;
  /**
   * Locks out all other processes, also if there is no store yet.
   *
   * @throws StoreOpenError if another process has the store open, or the store holds plants and may
   * not
   */
  claim(mayHoldPlants: boolean): ClaimedStore;
  /** The schema version that an earlier program has made. @throws StoreOpenError */
  outdatedSchema(): number | undefined;
  /** Migrates the schema to the version of this program. @throws StoreOpenError */
  upgrade(): void;
}

export function sqliteEngine({ path }: SqliteLocation): SqliteEngine {
  const firstTokenFile = join(dirname(path), firstTokenName);
  const wal = () => walOf(path);
  return {
    text: `sqlite:${path}`,
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
    open: ({ callMs, mayMake }) => openSqliteStore(path, callMs, mayMake),
    join: async ({ port }) => joinSqliteStore(path, demandShared(port)),
    openReader: async () => openSqliteReader(path),
    inspect: (_, onProgress) => runTask({ task: 'read the store', path }, onProgress),
    backUp: (copyPath, onProgress) =>
      runTask({ task: 'copy the store', storePath: path, copyPath }, onProgress),
    condition: () => conditionOfSqlite(path),
    wal,
    inspectBackup: (onProgress) => runTask({ task: 'read the file', path }, onProgress),
    seal: () => sealBackup(path),
    claim: (mayHoldPlants) => claimSqliteStore(path, mayHoldPlants),
    outdatedSchema: () => outdatedSchemaOfSqlite(path),
    upgrade: () => upgradeSqlite(path),
  };
}

/** SQLite keeps the WAL beside the file itself, not beside a link to the file. */
function walOf(path: string): Stats | undefined {
  if (!existsSync(path)) return undefined;
  return statSync(`${realpathSync.native(path)}-wal`, { throwIfNoEntry: false });
}
