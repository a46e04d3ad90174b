import type { MessagePort } from 'node:worker_threads';
import type { NewPlant, Plant } from '../contract/plant.ts';
import type { Measures, writerLayout } from '../threads/measures.ts';

/**
 * What a create came to. `created`: the plant is new. `same`: the store held this very plant,
 * nothing was written. `taken`: the id belongs to a plant with another name or tag, nothing was
 * written.
 */
export type CreateOutcome = 'created' | 'same' | 'taken';

/** Stands for the token of plants that no token has brought, but `import`. */
export const importId = -1;

/**
 * What is listed in the place of a token's name for plants that came with the fixed token, and for
 * those of `import`.
 */
export const fixedTokenName = 'environment';
export const importName = 'import';
export const namesOfNoToken: readonly string[] = [fixedTokenName, importName];

/**
 * The name of a token as it is listed with its plants. Earlier versions made tokens with the names
 * above, too; what tells those apart has a space, which no name has.
 */
export function listedTokenName(name: string): string {
  return namesOfNoToken.includes(name) ? `${name}${ofTokenMark}` : name;
}

export const ofTokenMark = ' (token)';

/**
 * A plant on its way into the store, with the id of the token that brought it (0 is the fixed token
 * of the environment).
 */
export interface PlantToCreate extends NewPlant {
  readonly createdBy: number;
}

/** A plant as one store gives it to another. `createdBy` is an id in the store that it is in. */
export interface CopiedPlant extends PlantToCreate {
  /** Milliseconds since the epoch. */
  readonly createdAtMs: number;
}

/** A plant in the store. Times are milliseconds since the epoch. */
export interface StoredPlant extends Plant {
  readonly id: bigint;
  readonly createdAtMs: number;
  /** `listedTokenName` of its token, or one of `namesOfNoToken`. */
  readonly createdBy: string;
}

export interface PlantFilter {
  readonly tag?: string | undefined;
  readonly nameContains?: string | undefined;
  /** As it is listed: `listedTokenName`, or one of `namesOfNoToken`. */
  readonly createdBy?: string | undefined;
  /** Milliseconds since the epoch: only plants that came then or later. */
  readonly sinceMs?: number | undefined;
  /** Only plants with a greater id. */
  readonly after?: bigint | undefined;
  readonly limit: number;
}

/** What to look for, and how long. */
export interface PlantSearch extends PlantFilter {
  readonly budgetMs: number;
}

/**
 * In ascending order of id. `next` is the id to search on after; undefined when all plants have
 * been looked at.
 */
export interface FoundPlants {
  readonly plants: readonly StoredPlant[];
  readonly next: bigint | undefined;
}

/**
 * How many plants a part of the store holds. `last` is the greatest id in it, undefined if there is
 * none.
 */
export interface CountedPlants {
  readonly plants: number;
  readonly last: bigint | undefined;
}

export type Role = 'create' | 'operate';
export const roles: readonly Role[] = ['create', 'operate'];

/**
 * A token as the store keeps it: its SHA-256, never the token. Times are milliseconds since the
 * epoch.
 */
export interface TokenRecord {
  readonly id: number;
  readonly name: string;
  readonly hash: Uint8Array;
  readonly role: Role;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | undefined;
  readonly revokedAtMs: number | undefined;
  readonly lastUsedAtMs: number | undefined;
}

export type NewToken = Pick<TokenRecord, 'name' | 'hash' | 'role' | 'createdAtMs' | 'expiresAtMs'>;

/**
 * How many tokens there are in each state, and how many of the valid ones have been used lately.
 */
export interface TokenCounts {
  readonly byState: Readonly<Record<'valid' | 'expired' | 'revoked', number>>;
  readonly inUse: number;
}

/**
 * Tokens of another store that are in this one now: by the id that each has there, the one that it
 * has here.
 */
export interface CopiedTokens {
  readonly ids: ReadonlyMap<number, number>;
}

/** Why none of them is: one in force has the name of another one here, or so many would be live. */
export type RefusedTokens = { readonly nameTaken: string } | { readonly tooMany: number };

/**
 * Who has signed in: SHA-256 of the session's secret, and whose token it was. Times are
 * milliseconds since the epoch.
 */
export interface NewSession {
  readonly hash: Uint8Array;
  readonly tokenId: number;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

/**
 * A backup that was checked when it was made. `digest` as in `StoreFigures`; the time is
 * milliseconds since the epoch.
 */
export interface BackupRecord {
  readonly file: string;
  readonly finishedAtMs: number;
  readonly plants: number;
  readonly digest: string;
}

export interface TokenUse {
  readonly id: number;
  readonly atMs: number;
}

/** The plants of a store as they are at one moment, while others go on writing. */
export interface PlantSnapshot extends AsyncDisposable {
  countPlants(): Promise<number>;
  /** In ascending order of id, some at a time. */
  pages(): AsyncIterable<readonly CopiedPlant[]>;
}

/** Looks into a store, also while a server is running on it. Closing it twice is safe. */
export interface StoreReader extends AsyncDisposable {
  /** The store as `--store` names it. */
  readonly location: string;
  getPlant(id: bigint): Promise<StoredPlant | undefined>;
  /** In ascending order of id. */
  listPlants(filter: PlantFilter): AsyncIterable<StoredPlant>;
  /**
   * Looks through the plants until `limit` are found or the time is over. It may find none and
   * still have more to look at. Plants that take much memory come fewer at a time
   * (`limits.store.listPageChars`).
   */
  searchPlants(search: PlantSearch): Promise<FoundPlants>;
  countPlants(): Promise<number>;
  /**
   * Counts the next plants after an id, or from the first on, so that a count of many can be made
   * in parts.
   */
  countPlantsAfter(after: bigint | undefined, plantsMax: number): Promise<CountedPlants>;
  /**
   * To be closed soon: the store has to keep what has changed since its moment apart until then.
   */
  openSnapshot(): Promise<PlantSnapshot>;
  /** All tokens, revoked ones too, in order of creation. */
  listTokens(): Promise<readonly TokenRecord[]>;
  /**
   * Those that are neither revoked nor expired: no more of them than may be live, however many
   * there have been. In order of creation.
   */
  liveTokens(nowMs: number): Promise<readonly TokenRecord[]>;
  /** @param usedSinceMs a token counts as used that has been used later than that */
  countTokens(nowMs: number, usedSinceMs: number): Promise<TokenCounts>;
  /** The token with this SHA-256, revoked or not. */
  findToken(hash: Uint8Array): Promise<TokenRecord | undefined>;
  /**
   * The token that a session was made with, revoked or not; undefined if there is no such session
   * or it has expired.
   */
  findSessionToken(hash: Uint8Array, nowMs: number): Promise<TokenRecord | undefined>;
  /** The last backup that was recorded, undefined if none was. */
  lastBackup(): Promise<BackupRecord | undefined>;
  close(): Promise<void>;
}

/**
 * A store that can be changed. Every method that writes resolves once the change is durable, and
 * rejects with a `StoreError` otherwise. Calls take effect one after the other, those that are
 * under way at the same time in any order.
 */
export interface Store extends StoreReader {
  /** How many calls of `createPlants` at a time make it faster. */
  readonly batchesMax: number;
  /**
   * Creates the plants in one transaction, as if one came after the other, also where an id comes
   * twice.
   *
   * @returns an outcome for each plant, in the same order.
   * @throws StoreError: no plant of the batch has been created, or that is not known.
   */
  createPlants(plants: readonly PlantToCreate[]): Promise<readonly CreateOutcome[]>;
  /**
   * The same for plants that another store has had: they keep the time at which they came there.
   */
  copyPlants(plants: readonly CopiedPlant[]): Promise<readonly CreateOutcome[]>;
  /**
   * A name is taken while a token that has it is not revoked; there are too many when `liveMax` are
   * live.
   */
  createToken(token: NewToken, liveMax: number): Promise<'created' | 'name taken' | 'too many'>;
  /** @returns false if there is no such token that is not revoked already. */
  revokeToken(name: string, atMs: number): Promise<boolean>;
  /** Takes in all tokens of another store, or none (`mergeTokens`). */
  copyTokens(
    tokens: readonly TokenRecord[],
    liveMax: number,
    nowMs: number,
  ): Promise<CopiedTokens | RefusedTokens>;
  recordTokenUse(uses: readonly TokenUse[]): Promise<void>;
  /**
   * Keeps the newest `perTokenMax` sessions of the token, this one among them. It also removes the
   * sessions of all tokens that have expired or were revoked, so that there are never more than
   * `perTokenMax` for each token that is live.
   */
  createSession(session: NewSession, perTokenMax: number): Promise<void>;
  removeSession(hash: Uint8Array): Promise<void>;
  /** Writes a little, to find out whether the store takes writes. */
  beat(atMs: number): Promise<void>;
  /** Notes that a backup was made. The last `limits.store.backupsRecorded` are kept. */
  recordBackup(backup: BackupRecord): Promise<void>;
}

/** What another thread needs to join a store. A port is transferred to it. */
export interface StoreShare {
  readonly port?: MessagePort;
  /** For what it measures: `writerLayout`. */
  readonly measures?: SharedArrayBuffer;
}

/** A store that several threads of the process use. */
export interface SharedStore extends Store {
  /** Whether there was none, so that opening has made it. */
  readonly isNew: boolean;
  /** The thread's store must be closed before this one. */
  share(): StoreShare;
  /**
   * Resolves with the reason when the store can no longer be relied on. It then refuses everything,
   * and closing it leaves its files as they are, for the next process that opens them to recover.
   */
  readonly failed: Promise<string>;
  /**
   * What a commit promises, as far as that depends on the settings of a database; they may change.
   */
  readonly promise: () => CommitPromise | undefined;
  /**
   * What the plants take, in bytes: their file, or their table; undefined if that cannot be told.
   * @throws StoreError
   */
  plantsBytes(): Promise<number | undefined>;
  /**
   * Connections to the database that those who write have, on all threads; undefined for a store in
   * a file.
   */
  connections(): number | undefined;
  /** What its transactions take, for each thread that writes. */
  readonly writers: readonly Measures<typeof writerLayout>[];
}

/** What it means that a transaction has been committed. */
export interface CommitPromise {
  /**
   * `kept`: on the disk of the server and of others, so that it outlives the server. `kept here`:
   * on the disk of the server, so that it outlives a power cut. `lost`: a crash may take it.
   */
  readonly level: 'kept' | 'kept here' | 'lost';
  /** A sentence for an operator, without its full stop. */
  readonly says: string;
}

/** What a store that is there says of itself, as `doctor` reads it back. */
export interface StoreCondition {
  readonly applicationId: number;
  readonly schemaVersion: number;
  readonly journalMode: string;
  /** As it is on a connection that is set up for writing as the service's own. */
  readonly synchronous: number;
  /**
   * The least and the greatest id, whose plants have been read; undefined if there are no plants.
   */
  readonly firstId: bigint | undefined;
  readonly lastId: bigint | undefined;
  readonly lastBackup: BackupRecord | undefined;
}

/**
 * Why a store failed. `unavailable`: it cannot do this now, and may be able to later; it has
 * changed nothing, unless its connection to the database was lost meanwhile. `fatal`: what it holds
 * is uncertain until it has been opened anew; it refuses everything from now on. `defect`:
 * something that should not happen.
 */
export type StoreFailure = 'unavailable' | 'fatal' | 'defect';

export class StoreError extends Error {
  readonly failure: StoreFailure;

  constructor(failure: StoreFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StoreError';
    this.failure = failure;
  }
}

/** The store cannot be opened. The message is for the operator and names the way out. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError';
}
