import { limits } from '../limits.ts';
import { type Engine, type PerEngine, resolveEngine } from './engine.ts';
import type { StoreLocation } from './location.ts';
import { postgresEngine } from './postgres/engine.ts';
import { sqliteEngine } from './sqlite/engine.ts';
import type { SharedStore } from './store.ts';

export type { DatabaseCondition } from './postgres/condition.ts';
export { postgresEngine } from './postgres/engine.ts';
export { sqliteEngine } from './sqlite/engine.ts';
export { tryLockFile } from './sqlite/write-lock.ts';

const engines: PerEngine<Engine> = { sqlite: sqliteEngine, postgres: postgresEngine };

export function engineOf(location: StoreLocation): Engine {
  return resolveEngine(engines, location);
}

/** For a command that creates no plants, and so accepts lost commits. @throws as `Engine.open` */
export function openToChange(location: StoreLocation): Promise<SharedStore> {
  return engineOf(location).open({ callMs: limits.cli.lockMs, acceptsLostCommits: true });
}
