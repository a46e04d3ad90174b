import type { Log } from '../service/log.ts';
import { type PerEngine, resolveEngine } from '../store/engine.ts';
import type { StoreLocation } from '../store/location.ts';
import type { Terminal } from './command.ts';
import type { NamedFinding } from './doctor/check.ts';
import { checkPostgres, checkPostgresStart } from './doctor/postgres.ts';
import { checkSqlite, checkSqliteStart } from './doctor/sqlite.ts';
import type { Target } from './prove/target.ts';
import { prepareDatabase, prepareStore } from './serve/prepare-store.ts';

interface EngineCommands {
  /** All checks of `doctor`. Nothing is changed. @throws CommandError */
  check(userId: number | undefined): Promise<NamedFinding[]>;
  /** @returns the warnings of a start @throws CommandError if the service must not start */
  checkStart(userId: number | undefined): NamedFinding[];
  prepare(log: Log, terminal: Terminal): Promise<void>;
  openTarget(): Promise<Target>;
}

// A command loads only the modules that it uses.
const targets = () => import('./prove/target.ts');

const engines: PerEngine<EngineCommands> = {
  sqlite: (location) => ({
    check: (userId) => checkSqlite(location, userId),
    checkStart: (userId) => checkSqliteStart(location, userId),
    prepare: (log, terminal) => prepareStore(location, log, terminal),
    openTarget: async () => (await targets()).openFileTarget(location),
  }),
  postgres: (location) => ({
    check: (userId) => checkPostgres(location, userId),
    checkStart: checkPostgresStart,
    prepare: (log) => prepareDatabase(location, log),
    openTarget: async () => (await targets()).openDatabaseTarget(location),
  }),
};

export function commandsOf(location: StoreLocation): EngineCommands {
  return resolveEngine(engines, location);
}
