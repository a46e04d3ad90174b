import { existsSync, statSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { withoutLinks } from '../../disk/files.ts';
import type { Engine } from '../engine.ts';
import type { Inspection, OnProgress } from '../inspection.ts';
import { firstTokenName, type SqliteLocation, sqliteCompanions } from '../location.ts';

/** Modules are loaded on use: a short command loads no store. */
export function sqliteEngine({ path }: SqliteLocation) {
  const firstTokenFile = join(dirname(path), firstTokenName);
  // SQLite keeps its files beside the target of a link.
  const fileWith = (ending: string) => withoutLinks(path) + ending;
  const stores = () => import('./store.ts');
  const tasks = () => import('./tasks.ts');
  const upgrades = () => import('./upgrade.ts');
  return {
    dbSystem: 'sqlite',
    text: `sqlite:${path}`,
    wholeText: `sqlite:${resolve(path)}`,
    name: resolve(path),
    file: path,
    firstTokenFile,
    backupName: basename(path, extname(path)),
    files: () => [...['', ...sqliteCompanions].map(fileWith), firstTokenFile],
    walBytes() {
      if (!existsSync(path)) return 0;
      return statSync(fileWith('-wal'), { throwIfNoEntry: false })?.size ?? 0;
    },
    open: async ({ callMs }, mayMake) => (await stores()).openSqliteStore(path, callMs, mayMake),
    join: async (share, { callMs }) => (await stores()).joinSqliteStore(path, share, callMs),
    openReader: async () => (await import('./reader.ts')).openSqliteReader(path),
    inspect: async (_, onProgress) =>
      (await tasks()).runTask({ task: 'read the store', path }, onProgress),
    backUp: async (copyPath, onProgress) =>
      (await tasks()).runTask({ task: 'copy the store', path, copyPath }, onProgress),
    /** Checks a backup, or any other file, and counts its plants. @throws StoreError */
    inspectBackup: async (onProgress: OnProgress) =>
      (await tasks()).runTask<Inspection>({ task: 'read the file', path }, onProgress),
    seal: async () => (await import('./backup.ts')).sealBackup(path),
    claim: async (mayHoldPlants: boolean) =>
      (await import('./claim.ts')).claimSqliteStore(path, mayHoldPlants),
    outdatedSchema: async () => (await upgrades()).outdatedSchemaOfSqlite(path),
    upgrade: async () => (await upgrades()).upgradeSqlite(path),
  } satisfies Engine & Record<string, unknown>;
}
