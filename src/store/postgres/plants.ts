import { isSamePlant, type Plant } from '../../contract/plant.ts';
import { StoreError } from '../errors.ts';
import type { CopiedPlant, CreateOutcome, PlantToCreate } from '../plants.ts';
import type { Query } from './pool.ts';

/**
 * Creates plants, whose ids may come more than once, in one statement. Ids go in ascending order,
 * so that two nodes that create the same plants wait for each other and do not lock each other out.
 *
 * What another transaction has written can be seen before it has reached the standbys that it waits
 * for. So where the answer is that a plant is there already, `confirm` commits something after it:
 * that commit waits for the same standbys.
 *
 * @param nowMs when they have come, in milliseconds since the epoch, unless all say so themselves
 */
export async function createPlants(
  query: Query,
  plants: readonly (PlantToCreate | CopiedPlant)[],
  nowMs: number,
  confirm: (query: Query) => Promise<void>,
): Promise<readonly CreateOutcome[]> {
  const firsts = firstOfEachId(plants);
  const { rows } = await query(insertSql, insertValues(firsts, nowMs), 'insert plants');
  if (rows.length === plants.length) return plants.map(() => 'created');

  const created = new Set(rows.map(([id]) => id));
  const found = await storedPlants(
    query,
    firsts.filter(({ id }) => !created.has(id)),
  );
  const stored = new Map<bigint, Plant>([
    ...firsts.filter(({ id }) => created.has(id)).map((plant) => [plant.id, plant] as const),
    ...found,
  ]);
  const outcomes = plants.map((plant): CreateOutcome => {
    const present = stored.get(plant.id);
    // The database gives way to others in a manner that it should not, or somebody has removed a
    // plant by hand.
    if (present === undefined)
      throw new StoreError(
        'unavailable',
        `the database neither takes the plant ${plant.id} nor has it`,
      );
    if (present === plant) return 'created';
    return isSamePlant(present, plant) ? 'same' : 'taken';
  });
  if (found.size > 0) await confirm(query);
  return outcomes;
}

/**
 * In ascending order of id. Sorting is stable, so that of plants with one id the first comes first.
 */
function firstOfEachId<T extends PlantToCreate>(plants: readonly T[]): T[] {
  const ascending = plants.toSorted((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id)));
  return ascending.filter(({ id }, index) => id !== ascending[index - 1]?.id);
}

/**
 * Stores those that are new, and returns their ids. Where there are fewer times than plants,
 * unnest() fills up with NULL.
 */
export const insertSql = `
  INSERT INTO plants (id, name, tag, created_at, created_by)
  SELECT id, name, tag, coalesce(created_at, $4::bigint), created_by
  FROM unnest($1::bigint[], $2::text[], $3::text[], $5::bigint[], $6::bigint[]) AS new (id, name, tag, created_by, created_at)
  ON CONFLICT (id) DO NOTHING RETURNING id`;

export function insertValues(
  plants: readonly (PlantToCreate | CopiedPlant)[],
  nowMs: number,
): unknown[] {
  return [
    `{${plants.map(({ id }) => id)}}`,
    `{${plants.map(({ name }) => element(name))}}`,
    `{${plants.map(({ tag }) => (tag === undefined ? 'NULL' : element(tag)))}}`,
    nowMs,
    `{${plants.map(({ createdBy }) => createdBy)}}`,
    `{${plants.flatMap((plant) => ('createdAtMs' in plant ? [plant.createdAtMs] : []))}}`,
  ];
}

/**
 * Text in an array (postgresql.org/docs/current/arrays.html#ARRAYS-IO). Given an array, `pg` would
 * write the same, for 0.37 instead of 0.13 µs a plant.
 */
function element(text: string): string {
  return /["\\]/.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : `"${text}"`;
}

/** Text is compared here and not there, where a collation may have a say. */
async function storedPlants(
  query: Query,
  plants: readonly PlantToCreate[],
): Promise<Map<bigint, Plant>> {
  if (plants.length === 0) return new Map();
  const { rows } = await query('SELECT id, name, tag FROM plants WHERE id = ANY($1::bigint[])', [
    plants.map(({ id }) => id),
  ]);
  return new Map(rows.map(([id, name, tag]) => [id, { name, tag: tag ?? undefined }]));
}
