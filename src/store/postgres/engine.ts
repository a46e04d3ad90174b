import { join } from 'node:path';
import type { Engine } from '../engine.ts';
import { firstTokenName, type PostgresLocation } from '../location.ts';
import type { DatabaseCondition } from './condition.ts';
import { postgresText } from './location.ts';
import type { ScratchSchema } from './scratch.ts';

/** What only a store in a database has. */
export interface PostgresEngine extends Engine {
  /** @throws StoreOpenError, StoreError */
  condition(): Promise<DatabaseCondition>;
  /** Makes a schema for a store of its own. @throws StoreOpenError, StoreError */
  makeScratchSchema(): Promise<ScratchSchema>;
  /** The schema version that an earlier program has made. @throws StoreOpenError, StoreError */
  outdatedSchema(): Promise<number | undefined>;
  /** @returns if the tables are in use, by which sessions @throws StoreOpenError, StoreError */
  upgrade(): Promise<string | undefined>;
}

/** Modules are loaded on use: a command on SQLite does not load `pg`. */
export function postgresEngine(location: PostgresLocation): PostgresEngine {
  const text = postgresText(location);
  const stores = () => import('./store.ts');
  const upgrades = () => import('./upgrade.ts');
  return {
    dbSystem: 'postgresql',
    text,
    wholeText: text,
    name: text,
    file: undefined,
    firstTokenFile: join('data', firstTokenName),
    backupName: encodeURIComponent(location.database),
    files() {
      return [this.firstTokenFile];
    },
    walBytes: () => undefined,
    open: async (options) => (await stores()).openPostgresStore(location, options),
    join: async (share, options) => (await stores()).joinPostgresStore(location, share, options),
    openReader: async (readMs) => (await stores()).openPostgresReader(location, readMs),
    inspect: async (readMs, onProgress) =>
      (await import('./inspection.ts')).inspectPostgres(location, readMs, onProgress),
    backUp: undefined,
    condition: async () => (await import('./condition.ts')).conditionOfPostgres(location),
    makeScratchSchema: async () => (await import('./scratch.ts')).makeScratchSchema(location),
    outdatedSchema: async () => (await upgrades()).outdatedPostgres(location),
    upgrade: async () => (await upgrades()).upgradePostgres(location),
  };
}
