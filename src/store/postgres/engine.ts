import { join } from 'node:path';
import { commandOn } from '../command-text.ts';
import type { Engine } from '../engine.ts';
import { firstTokenName, type PostgresLocation, shownUrl } from '../location.ts';
import type { OnWait } from './upgrade.ts';

/** Modules are loaded on use: a command on SQLite does not load `pg`. */
export function postgresEngine(location: PostgresLocation) {
  const url = shownUrl(location);
  const firstTokenFile = join('data', firstTokenName);
  const stores = () => import('./store.ts');
  const upgrades = () => import('./upgrade.ts');
  return {
    dbSystem: 'postgresql',
    url,
    file: undefined,
    name: url,
    command: (words) => commandOn(url, words),
    firstTokenFile,
    backupName: encodeURIComponent(location.database),
    files: () => [firstTokenFile],
    walBytes: async () => undefined,
    isThere: async () => (await upgrades()).isThereInPostgres(location),
    remnants: async () => [],
    setRemnantsAside: () => undefined,
    open: async (options) => (await stores()).openPostgresStore(location, options),
    join: async (share, options) => (await stores()).joinPostgresStore(location, share, options),
    openReader: async (readMs) => (await stores()).openPostgresReader(location, readMs),
    doubt: async () => undefined,
    triggers: async () => undefined,
    inspect: async (readMs, onProgress) =>
      (await import('./reader.ts')).inspectPostgres(location, readMs, onProgress),
    condition: async () => (await import('./condition.ts')).conditionOfPostgres(location),
    makeScratchSchema: async () => (await import('./scratch.ts')).makeScratchSchema(location),
    outdatedSchema: async () => (await upgrades()).outdatedPostgres(location),
    upgrade: async (onWait: OnWait) => (await upgrades()).upgradePostgres(location, onWait),
  } satisfies Engine & Record<string, unknown>;
}
