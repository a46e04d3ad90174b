import type { Inspection, OnProgress } from './inspection.ts';
import type { StoreLocation } from './location.ts';
import type { SharedStore, Store, StoreReader, StoreShare } from './store.ts';

export interface StoreOptions {
  /** Time for one call, and for a write to wait for another process. */
  readonly callMs: number;
  /** Whether to make a missing store. */
  readonly mayMake?: boolean;
  /** Whether to use a database that may lose commits. */
  readonly acceptsLostCommits?: boolean;
  /** Connections to a database that one thread may have. By default, as many as are of use. */
  readonly connectionsPerThread?: number | undefined;
  /** Standbys that a database must wait for before a plant counts as created. By default none. */
  readonly standbysMin?: number;
}

export interface Remnant {
  /** A clause. */
  readonly says: string;
  /** The file, if a service has saved the plants in it. */
  readonly saved?: string;
}

/** Triggers on the tables of a store in a file, with which no command writes to the store. */
export interface FoundTriggers {
  /** A noun, and what it may do. */
  readonly says: string;
  readonly drop: string;
  /** A clause. */
  readonly remedy: string;
}

/** The store at one location, opened or not. */
export interface Engine {
  /** Its name in traces (OpenTelemetry, `db.system.name`). */
  readonly dbSystem: string;
  /** The location as `--store` takes it: with the absolute path of a file, without a password. */
  readonly url: string;
  /** The absolute path of the store; undefined for a database. */
  readonly file: string | undefined;
  /** The location in messages: `file` or `url`. */
  readonly name: string;
  /** Where the first token is written: beside a file; for a database, beside the default store. */
  readonly firstTokenFile: string;
  /** The first part of the name of a backup. */
  readonly backupName: string;
  /** All files that belong to the store. A command must not overwrite them. */
  files(): string[];
  /** Bytes of SQLite's WAL; undefined for a database. @throws errors of the file system */
  walBytes(): Promise<number | undefined>;
  /** Tells whether the store exists. An empty file is no store. @throws StoreOpenError, StoreError */
  isThere(): Promise<boolean>;
  /** What is left of an earlier store at a location without a store. */
  remnants(): Promise<Remnant[]>;
  /** Gives a WAL without its store another name: SQLite would remove the WAL. */
  setRemnantsAside(): void;
  /** A command of the program on the store, in quotes, for a message. */
  command(words: string): string;
  /** @throws StoreOpenError, also if the store does not exist and may not be made; StoreError */
  open(options: StoreOptions): Promise<SharedStore>;
  /** Joins a store that another thread shares. Close it before the other thread closes its own. */
  join(share: StoreShare, options: StoreOptions): Promise<Store>;
  /** @param readMs per read of a database @throws StoreOpenError without a store, StoreError */
  openReader(readMs: number): Promise<StoreReader>;
  /** Why the disk may lack what the store holds, as a clause. Undefined without a doubt. */
  doubt(): Promise<string | undefined>;
  /** Always undefined for a database, where `doctor` makes a test write. @throws StoreOpenError */
  triggers(): Promise<FoundTriggers | undefined>;
  /** Checks and counts the plants, also while services write. @throws StoreOpenError, StoreError */
  inspect(readMs: number, onProgress: OnProgress): Promise<Inspection>;
}

type EngineName = StoreLocation['engine'];

/** A table with an entry for each engine. */
export type PerEngine<T> = {
  readonly [E in EngineName]: (location: Extract<StoreLocation, { engine: E }>) => T;
};

/** Resolves a table for a location. No other function looks at the name of an engine. */
export function resolveEngine<T>(table: PerEngine<T>, location: StoreLocation): T {
  return (table[location.engine] as (location: StoreLocation) => T)(location);
}
