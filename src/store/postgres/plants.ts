import type { DatabaseError } from 'pg';
import { isSamePlant, type NewPlant } from '../../contract/plant.ts';
import { limits } from '../../limits.ts';
import { StoreError } from '../errors.ts';
import type { PlantToCreate, Settlement } from '../plants.ts';
import {
  CHECK_VIOLATION,
  isOfContent,
  isOfPlants,
  PROGRAM_LIMIT_EXCEEDED,
  reasonIn,
} from './errors.ts';
import { insertOf, type NewPlants, storedPlants } from './plant-insert.ts';
import type { RefusedPlants } from './refused-plants.ts';
import { takesPlainPlant } from './test-write.ts';
import { inTransaction, type Query } from './transaction.ts';

/** What several creates of one thread have in common. */
export interface CreateContext {
  /** Commits something of its own. */
  readonly confirm: (query: Query) => Promise<void>;
  readonly refused: RefusedPlants;
  /** When the search for the plants that the database refuses ends, by `performance.now()`. */
  readonly searchEndMs: number;
}

/**
 * Creates plants in one statement. An id may occur more than once. Ids go in ascending order, so
 * two nodes with the same plants wait for each other without a deadlock.
 *
 * A plant of another transaction can be read before the standbys have it. If a plant exists
 * already, `confirm` commits something: that commit waits for the same standbys.
 *
 * @param nowMs time of the creates in milliseconds since the epoch, unless the plants have times
 */
export async function createPlants(
  query: Query,
  plants: NewPlants,
  nowMs: number,
  context: CreateContext,
): Promise<readonly Settlement[]> {
  const refused = context.refused.among(plants);
  const tried = refused.size === 0 ? plants : plants.filter((plant) => !refused.has(plant));
  const firsts = firstOfEachId(tried);
  const result = firsts.length > 0 ? await insertAll(query, firsts, nowMs) : [];
  if (result instanceof Error)
    return inTransaction(query, async () => {
      const found = await insertApart(query, tried, nowMs, result, context);
      for (const [plant, reason] of refused) found.refused.set(plant, reason);
      return settlementsOf(query, plants, found, context);
    });
  if (result.length === plants.length) return plants.map(() => 'created');
  const created = new Set(result.map(([id]) => id));
  const stored = new Map(firsts.filter(({ id }) => created.has(id)).map((one) => [one.id, one]));
  return settlementsOf(query, plants, { stored, refused }, context);
}

/** @returns the rows that are created, or the error if some of the plants may be the reason */
async function insertAll(query: Query, plants: NewPlants, nowMs: number) {
  const { text, values } = insertOf(query, plants, nowMs);
  try {
    return (await query(text, values)).rows;
  } catch (error) {
    if (isOfPlants(error)) return error;
    throw error;
  }
}

interface Inserted {
  readonly stored: Map<bigint, PlantToCreate>;
  readonly refused: Map<PlantToCreate, StoreError>;
}

/** Of a refused plant, the id is read first: PostgreSQL checks a plant before its id. */
async function settlementsOf(
  query: Query,
  plants: NewPlants,
  { stored, refused }: Inserted,
  { confirm }: CreateContext,
): Promise<Settlement[]> {
  const found = await storedPlants(
    query,
    plants.filter(({ id }) => !stored.has(id)),
  );
  const settlements = plants.map((plant): Settlement => {
    const present = stored.get(plant.id) ?? found.get(plant.id);
    if (present === undefined) return refused.get(plant) ?? dropped;
    if (present === plant) return 'created';
    return isSamePlant(present, plant) ? 'same' : 'taken';
  });
  if (found.size > 0) await confirm(query);
  return settlements;
}

const dropped = new StoreError(
  'unavailable',
  'the database drops a plant without an error: look for a trigger on the table of plants',
);

/** Inserts all plants but those that the database refuses, which it finds by halves. */
async function insertApart(
  query: Query,
  plants: NewPlants,
  nowMs: number,
  failure: unknown,
  { refused, searchEndMs }: CreateContext,
): Promise<Inserted> {
  const stored = new Map<bigint, PlantToCreate>();
  const failures = new Map<PlantToCreate, unknown>();
  let triesLeft: number = limits.postgres.savepointsMax;
  let isGuessing = true;

  async function failureOf(some: NewPlants): Promise<unknown> {
    if (triesLeft === 0 || performance.now() > searchEndMs) return tooMany;
    triesLeft -= 1;
    try {
      const [inserted] = await query.attempt([insertOf(query, some, nowMs)]);
      const created = new Set(inserted?.rows.map(([id]) => id));
      for (const plant of some) if (created.has(plant.id)) stored.set(plant.id, plant);
      return undefined;
    } catch (error) {
      if (!isOfPlants(error)) throw error;
      return error;
    }
  }

  /** @param known with which all of them have failed together */
  async function insertSome(some: NewPlants, known: unknown): Promise<boolean> {
    // No plant is blamed that has not failed by itself: the others may be the reason, or the moment.
    const error = (some.length > 1 ? known : undefined) ?? (await failureOf(some));
    if (error === undefined) return true;
    if (some.length === 1 || error === tooMany) {
      for (const plant of some) failures.set(plant, error);
      return false;
    }
    const suspect = isGuessing ? suspectOf(error, some) : undefined;
    const half = Math.ceil(some.length / 2);
    const [first, rest] = suspect
      ? [[suspect], some.filter((plant) => plant !== suspect)]
      : [some.slice(0, half), some.slice(half)];
    const isFirstIn = await insertSome(first, undefined);
    if (suspect && isFirstIn) isGuessing = false;
    await insertSome(rest, isFirstIn ? error : undefined);
    return false;
  }

  let known = failure;
  for (let left = plants; left.length > 0; known = undefined) {
    const firsts = firstOfEachId(left);
    await insertSome(firsts, known);
    // Of two plants with one id, the second is tried when the first is refused.
    const rejected = new Map(
      firsts.filter((plant) => failures.has(plant)).map((plant) => [plant.id, plant]),
    );
    left = left.filter((plant) => {
      const first = rejected.get(plant.id);
      if (first === undefined || first === plant) return false;
      const isNext = !isSamePlant(first, plant) && failures.get(first) !== tooMany;
      if (!isNext) failures.set(plant, failures.get(first));
      return isNext;
    });
  }
  const reasons = await reasonsOf(query, failures, searchEndMs);
  // While the database takes no plant at all, a plant must not be refused longer than that.
  for (const [plant, reason] of reasons)
    if (reason !== tooMany && (reason.failure === 'refused' || stored.size > 0))
      refused.note(plant, reason);
  return { stored, refused: reasons };
}

/** A guess, which saves most of the halves: the text of the error may mislead. */
function suspectOf(error: unknown, plants: NewPlants) {
  const { code, detail = '' } = error as DatabaseError;
  const charsOf = ({ name, tag = '' }: NewPlant) => name.length + tag.length;
  if (code === PROGRAM_LIMIT_EXCEEDED)
    return plants.reduce((one, other) => (charsOf(other) > charsOf(one) ? other : one));
  // "Failing row contains (5, …)", in the language of the server.
  const id = code === CHECK_VIOLATION ? /\((-?\d+)[,)]/.exec(detail)?.[1] : undefined;
  return plants.find((plant) => `${plant.id}` === id);
}

const tooMany = new StoreError(
  'unavailable',
  'too many plants of one transaction are refused, and others of them could not be tried',
);

/**
 * A database that refuses a plain plant, too, refuses no plant for its content. Nor does a
 * partition that refuses a plain plant with the same id.
 */
async function reasonsOf(
  query: Query,
  failures: ReadonlyMap<PlantToCreate, unknown>,
  endMs: number,
): Promise<Map<PlantToCreate, StoreError>> {
  /** By the table that has refused plants. */
  const takesPlain = new Map<string | undefined, boolean>();
  const reasons = new Map<PlantToCreate, StoreError>();
  for (const [plant, error] of failures) {
    const isContent = isOfPlants(error) && isOfContent(error);
    const table = isContent ? error.table : undefined;
    if (isContent && !takesPlain.has(table)) {
      const ids = table === undefined || table === 'plants' ? undefined : [plant.id];
      takesPlain.set(table, await takesPlainPlant(query, endMs, ids));
    }
    const failure = isContent && takesPlain.get(table) ? 'refused' : 'unavailable';
    reasons.set(plant, error === tooMany ? tooMany : new StoreError(failure, reasonIn(error)));
  }
  return reasons;
}

/** In ascending order of id. The sort is stable: the first plant of each id comes first. */
function firstOfEachId<T extends PlantToCreate>(plants: readonly T[]): T[] {
  const ascending = plants.toSorted((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id)));
  return ascending.filter(({ id }, index) => id !== ascending[index - 1]?.id);
}
