import { existsSync, renameSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { compactTime, withoutLinks } from '../../disk/files.ts';
import { commandOn } from '../command-text.ts';
import type { Engine } from '../engine.ts';
import type { Inspection, OnProgress } from '../inspection.ts';
import {
  firstTokenName,
  type SqliteLocation,
  sqliteCompanions,
  syncNotesEnding,
} from '../location.ts';

/** Modules are loaded on use: a short command loads no store. */
export function sqliteEngine({ path }: SqliteLocation) {
  const file = resolve(path);
  const url = `sqlite:${file}`;
  const firstTokenFile = join(dirname(path), firstTokenName);
  // SQLite keeps its files beside the target of a link.
  const fileWith = (ending: string) => withoutLinks(path) + ending;
  const stores = () => import('./store.ts');
  const tasks = () => import('./tasks.ts');
  const upgrades = () => import('./upgrade.ts');
  return {
    dbSystem: 'sqlite',
    url,
    file,
    name: file,
    command: (words) => commandOn(url, words),
    firstTokenFile,
    backupName: basename(path, extname(path)),
    files: () => [...['', ...sqliteCompanions, syncNotesEnding].map(fileWith), firstTokenFile],
    walBytes: async () => (await stat(`${await realpath(path)}-wal`)).size,
    isThere: async () => (await import('./database.ts')).isThere(path),
    remnants: async () => (await import('./remnants.ts')).remnantsOfSqlite(path),
    setRemnantsAside() {
      const kept = `${fileWith('')}.replaced-${compactTime(new Date())}`;
      for (const companion of sqliteCompanions)
        if (existsSync(fileWith(companion))) renameSync(fileWith(companion), kept + companion);
    },
    open: async (options) => (await stores()).openSqliteStore(path, options),
    join: async (share, { callMs }) => (await stores()).joinSqliteStore(path, share, callMs),
    openReader: async () => (await import('./reader.ts')).openSqliteReader(path),
    doubt: async () => (await import('./failed-sync.ts')).doubtOf(path),
    triggers: async () => (await import('./database.ts')).triggersAt(path),
    /** Repairs the files after a failed sync. @returns whether the disk lacked pages @throws StoreError */
    repair: async () => (await tasks()).runTask<boolean>({ task: 'repair the store', path }),
    inspect: async (_, onProgress) =>
      (await tasks()).runTask({ task: 'read the store', path }, onProgress),
    /** Copies the file at one moment, also while services write. @throws StoreError */
    backUp: async (copyPath: string, onProgress: OnProgress) =>
      (await tasks()).runTask<void>({ task: 'copy the store', path, copyPath }, onProgress),
    /** Checks a backup, or any other file, and counts its plants. @throws StoreError */
    inspectBackup: async (onProgress: OnProgress) =>
      (await tasks()).runTask<Inspection>({ task: 'read the file', path }, onProgress),
    seal: async () => (await import('./backup.ts')).sealBackup(path),
    noteRestore: async (atMs: number, digest: string) =>
      (await import('./backup.ts')).noteRestore(path, atMs, digest),
    claim: async (mayHoldPlants: boolean) =>
      (await import('./claim.ts')).claimSqliteStore(path, mayHoldPlants),
    outdatedSchema: async () => (await upgrades()).outdatedSchemaOfSqlite(path),
    upgrade: async () => (await upgrades()).upgradeSqlite(path),
  } satisfies Engine & Record<string, unknown>;
}
