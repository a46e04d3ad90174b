import type { Worker } from 'node:worker_threads';
import type { Measures, writerLayout } from '../threads/measures.ts';
import type { CopiedPlant, PlantReader, PlantToCreate, Settlement } from './plants.ts';
import type { StoreIdentity } from './tables/identity.ts';
import type { TableReader, TableWriter } from './tables/tables.ts';

/** Reads a store, also while services run on it. Closing it twice is safe. */
export interface StoreReader extends PlantReader, TableReader, AsyncDisposable {
  /** As `Engine.url`. */
  readonly url: string;
  /** Undefined before the upgrade of a store of 2.0.0 or earlier. */
  identity(): Promise<StoreIdentity | undefined>;
  close(): Promise<void>;
}

/**
 * Reads and changes a store. A write resolves once the change is durable, and rejects with a
 * `StoreError` otherwise. Concurrent writes take effect one after the other, in any order.
 */
export interface Store extends StoreReader, TableWriter {
  /** Number of concurrent `createPlants` calls that still makes creates faster. */
  readonly batchesMax: number;
  /**
   * Creates the plants in one transaction, in their order. An id may occur more than once. A plant
   * of another store keeps its time.
   *
   * @returns a settlement for each plant, in the same order
   * @throws StoreError: no plant was created, or the result of the transaction is unknown
   */
  createPlants(plants: readonly (PlantToCreate | CopiedPlant)[]): Promise<readonly Settlement[]>;
  /**
   * Tests whether the store takes writes, with a small one; a database also as `testWrite`, from
   * time to time. Until such a test passes again, no thread creates plants.
   */
  beat(atMs: number): Promise<void>;
}

export interface StoreShare {
  /** Memory that all threads with the store share, by its engine. */
  readonly memory: SharedArrayBuffer;
  /** Memory of `writerLayout`, of the thread alone. */
  readonly measures: SharedArrayBuffer;
}

/** A store that several threads of the process use. */
export interface SharedStore extends Store {
  readonly isNew: boolean;
  /**
   * Tries plants of several kinds in a transaction that is rolled back.
   *
   * @returns warnings: kinds of plants that a database refuses
   * @throws StoreOpenError if a database does not store plants as they are sent; StoreError
   */
  testWrite(): Promise<readonly string[]>;
  /**
   * The other thread must close its store before this one is closed. If the thread ends during a
   * transaction, the store fails.
   */
  share(thread: Worker): StoreShare;
  /**
   * Resolves with the reason when the store is no longer reliable. Every later call is refused, and
   * closing leaves the files as they are: the next process that opens them recovers them. Files
   * that were removed or replaced are saved first, and the reason says where.
   */
  readonly failed: Promise<string>;
  /** What a commit promises under the settings of a database, which may change. */
  readonly durability: () => Durability | undefined;
  /** What stands between this program and the database, as far as the connections tell. */
  readonly pooler: string | undefined;
  readonly metrics: {
    readonly writers: readonly Measures<typeof writerLayout>[];
    /** Bytes of the file or table; undefined if the engine does not tell. @throws StoreError */
    plantsBytes(): Promise<number | undefined>;
    /** Connections of all threads to the database; undefined for a store in a file. */
    connections(): number | undefined;
  };
}

export interface Durability {
  /**
   * `kept`: on the disks of several servers, so it survives the loss of one. `kept here`: on the
   * disk of the server, so it survives a power cut. `lost`: a crash may take it.
   */
  readonly level: 'kept' | 'kept here' | 'lost';
  /** Disks that have each plant before its 200. */
  readonly disks: number;
  /** A sentence for an operator, without its full stop. */
  readonly says: string;
}
