import type { Environment } from '../config/environment.ts';
import type { Values } from '../config/flags.ts';
import { postgresVariables } from '../config/postgres/variables.ts';
import type { Log } from '../service/log.ts';
import { type PerEngine, resolveEngine } from '../store/engine.ts';
import type { StoreLocation } from '../store/location.ts';
import type { Scrub } from './backup/scrub.ts';
import { CommandError, type Terminal } from './command.ts';
import type { NamedFinding } from './doctor/check.ts';
import { checkPostgres, checkPostgresStart } from './doctor/postgres.ts';
import { checkSqlite, checkSqliteStart } from './doctor/sqlite.ts';
import type { Target } from './prove/target.ts';
import { prepareDatabase, prepareStore } from './serve/prepare-store.ts';

/** What commands do on the store of one engine. */
interface EngineCommands {
  /** All checks of `doctor`. Nothing is changed. @throws CommandError */
  check(userId: number | undefined): Promise<NamedFinding[]>;
  /**
   * The checks of a start, in a millisecond.
   *
   * @returns the warnings
   * @throws CommandError if the service must not start
   */
  checkStart(userId: number | undefined): NamedFinding[];
  /** Reports damage, and upgrades a store that an earlier version has made. */
  prepare(log: Log, terminal: Terminal): Promise<void>;
  /** Makes the backup `source` the store. @throws CommandError, StoreOpenError, StoreError */
  restore(
    source: string,
    choices: Values<'overwrite' | 'accept-lost-commits' | 'json'>,
    terminal: Terminal,
  ): Promise<void>;
  /** How another process of the program opens the store: `--store`, and variables beside it. */
  readonly forChild: { readonly flag: string; readonly env: Environment };
  /** Compares the store with a backup. @param parts its files @throws StoreOpenError, StoreError */
  scrub(parts: readonly string[], terminal: Terminal): Promise<Scrub>;
  /** Puts right what a backup knows better. @throws CommandError, StoreOpenError, StoreError */
  repair(backup: string, json: boolean, terminal: Terminal): Promise<void>;
  /** @throws CommandError, StoreOpenError, StoreError */
  openTarget(): Promise<Target>;
}

// A command loads only the modules that it uses.
const targets = () => import('./prove/target.ts');
const scrubs = () => import('./backup/scrub.ts');
const databaseRestores = () => import('./backup/restore-database.ts');

const engines: PerEngine<EngineCommands> = {
  sqlite: (location) => ({
    check: (userId) => checkSqlite(location, userId),
    checkStart: (userId) => checkSqliteStart(location, userId),
    prepare: (log, terminal) => prepareStore(location, log, terminal),
    restore: async (source, choices, terminal) =>
      (await import('./backup/restore-file.ts')).restoreFile(source, location, choices, terminal),
    forChild: { flag: `sqlite:${location.path}`, env: {} },
    scrub: async (parts, terminal) => (await scrubs()).scrubFile(location, parts, terminal),
    repair: async (backup, json, terminal) =>
      (await import('./backup/repair-file.ts')).repairFile(backup, location, json, terminal),
    openTarget: async () => (await targets()).openFileTarget(location),
  }),
  postgres: (location) => ({
    check: (userId) => checkPostgres(location, userId),
    checkStart: checkPostgresStart,
    prepare: (log) => prepareDatabase(location, log),
    restore: async (source, choices, terminal) =>
      (await databaseRestores()).restoreIntoDatabase(source, location, choices, terminal),
    forChild: { flag: 'postgres://', env: postgresVariables(location) },
    scrub: async (parts, terminal) => (await scrubs()).scrubDatabase(location, parts, terminal),
    repair: async (backup) => {
      throw new CommandError(
        `repair is for stores in SQLite; restore ${backup} into another database with "plant-store restore"`,
      );
    },
    openTarget: async () => (await targets()).openDatabaseTarget(location),
  }),
};

export function commandsOf(location: StoreLocation): EngineCommands {
  return resolveEngine(engines, location);
}
