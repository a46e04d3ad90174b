import type { NewPlant } from '../contract/plant.ts';
import type { StoreError } from './errors.ts';

/**
 * Outcome of a create. `created`: the plant is new. `same`: the store holds an equal plant.
 * `taken`: the id belongs to a plant with another name or tag. Only `created` writes.
 */
export type CreateOutcome = 'created' | 'same' | 'taken';

/** Of one plant of several. After an error other than `refused`, the plant may be stored. */
export type Settlement = CreateOutcome | StoreError;

/** A plant to create. `createdBy` is the id of the token: 0 is the fixed token, -1 `import`. */
export interface PlantToCreate extends NewPlant {
  readonly createdBy: number;
}

/** A plant of a snapshot. `createdBy` is an id in the store that the snapshot is of. */
export interface CopiedPlant extends PlantToCreate {
  /** Milliseconds since the epoch. */
  readonly createdAtMs: number;
}

export interface StoredPlant extends NewPlant {
  /** Milliseconds since the epoch. */
  readonly createdAtMs: number;
  /** The name of its token, or one of `namesOfNoToken`. */
  readonly createdBy: string;
}

export interface PlantMatch {
  readonly tag?: string | undefined;
  /** In upper or lower case. */
  readonly nameContains?: string | undefined;
  /** As in `StoredPlant`. */
  readonly createdBy?: string | undefined;
  /** Plants created at this time or later, in milliseconds since the epoch. */
  readonly sinceMs?: number | undefined;
  /** Plants created before this time, in milliseconds since the epoch. */
  readonly untilMs?: number | undefined;
}

export interface PlantFilter extends PlantMatch {
  /** Plants with a greater id. */
  readonly after?: bigint | undefined;
  readonly limit: number;
}

export interface PlantSearch extends PlantMatch {
  readonly limit: number;
  /** The search ends after about this time, found or not. */
  readonly budgetMs: number;
  /** Otherwise in ascending order of id. */
  readonly isNewestFirst?: boolean;
  /** The `next` of an earlier search in this order: of a search by id, the last id. */
  readonly from?: string | undefined;
}

export interface FoundPlants {
  readonly plants: readonly StoredPlant[];
  /** Where the search goes on; undefined at the end of the store. */
  readonly next: string | undefined;
}

export type MatchCount = Omit<PlantFilter, 'limit'> & Pick<PlantSearch, 'budgetMs'>;

export interface CountedMatches {
  readonly plants: number;
  /** The id after which the count goes on; undefined at the end of the store. */
  readonly next: bigint | undefined;
}

/** The plants at one moment. Other connections may write meanwhile. */
export interface PlantSnapshot extends AsyncDisposable {
  countPlants(): Promise<number>;
  /** The time of the newest plant before another time, in milliseconds since the epoch. */
  newestBefore(ms: number): Promise<number | undefined>;
  /** Sums over ids and times before a time. Equal plants have equal sums, others almost never. */
  sumsBefore(ms: number): Promise<{ readonly plants: number; readonly sums: string }>;
  /** All plants, or those of a time and later, in ascending order of id, page by page. */
  pages(sinceMs?: number): AsyncIterable<readonly CopiedPlant[]>;
}

export interface PlantReader {
  getPlant(id: bigint): Promise<StoredPlant | undefined>;
  /** In ascending order of id, or the newest first, where `after` is not possible. */
  listPlants(filter: PlantFilter, isNewestFirst?: boolean): AsyncIterable<StoredPlant>;
  /** As the pages of a snapshot. A file is read without a snapshot, which would hold the WAL. */
  allPlants(sinceMs?: number): AsyncIterable<NewPlant>;
  countPlants(match: PlantMatch): Promise<number>;
  /**
   * Returns up to `limit` plants, fewer when the time is over or their texts exceed
   * `limits.store.listPageChars`. It may find none and still have a `next`.
   *
   * The newest plants are, in SQLite, the last that came into the store; in PostgreSQL, those of
   * the latest times. The two differ where another store brought plants, or a clock was wrong.
   *
   * @returns undefined if `from` is no place in this order
   */
  searchPlants(search: PlantSearch): Promise<FoundPlants | undefined>;
  /**
   * Counts the plants that match, until the time is over. The parts of a count contain all plants
   * that were stored when the count began, and some later ones.
   */
  countMatches(count: MatchCount): Promise<CountedMatches>;
  /** Until it is closed, a snapshot makes the store keep old versions of changed pages or rows. */
  openSnapshot(): Promise<PlantSnapshot>;
}
