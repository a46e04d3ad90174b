import { commandOn } from './command-text.ts';
import { type Engine, type PerEngine, resolveEngine, type StoreOptions } from './engine.ts';
import type { StoreLocation } from './location.ts';
import { postgresEngine } from './postgres/engine.ts';
import { sqliteEngine } from './sqlite/engine.ts';
import type { SharedStore, StoreReader } from './store.ts';

export type { DatabaseCondition } from './postgres/condition.ts';
export { postgresEngine } from './postgres/engine.ts';
export { sqliteEngine } from './sqlite/engine.ts';
export { tryLockFile } from './sqlite/file-lock.ts';

const engines: PerEngine<Engine> = { sqlite: sqliteEngine, postgres: postgresEngine };

export function engineOf(location: StoreLocation): Engine {
  return resolveEngine(engines, location);
}

export function commandFor(location: StoreLocation, words: string): string {
  return commandOn(engineOf(location).wholeText, words);
}

/**
 * Opens a store, and makes it if it does not exist. The options are those of `StoreOptions`.
 *
 * @throws StoreOpenError, StoreError
 */
export function openStore(
  location: StoreLocation,
  callMs: number,
  acceptsLostCommits = true,
  ofDatabase?: Pick<StoreOptions, 'connectionsPerThread' | 'standbysMin'>,
): Promise<SharedStore> {
  return engineOf(location).open({ callMs, acceptsLostCommits, ...ofDatabase }, true);
}

/** Opens a store. @throws StoreOpenError, also if it does not exist; StoreError */
export function openExistingStore(
  location: StoreLocation,
  callMs: number,
  acceptsLostCommits = true,
): Promise<SharedStore> {
  return engineOf(location).open({ callMs, acceptsLostCommits }, false);
}

export function openReader(location: StoreLocation, readMs: number): Promise<StoreReader> {
  return engineOf(location).openReader(readMs);
}
