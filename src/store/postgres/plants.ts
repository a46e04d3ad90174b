import type { Plant } from '../../contract/plant.ts';
import type { CopiedPlant, CreateOutcome, PlantToCreate } from '../store.ts';
import { StoreError } from '../store.ts';
import type { Query } from './pool.ts';

/**
 * Creates plants, whose ids may come more than once, in one statement. Ids go in ascending order, so that two nodes that create the same
 * plants wait for each other and do not lock each other out.
 *
 * What another transaction has written can be seen before it has reached the standbys that it waits for. So where the answer is that a plant
 * is there already, `confirm` commits something after it: that commit waits for the same standbys.
 *
 * @param nowMs when they have come, in milliseconds since the epoch, unless all say so themselves
 */
export async function createPlants(
  query: Query,
  plants: readonly (PlantToCreate | CopiedPlant)[],
  nowMs: number,
  confirm: (query: Query) => Promise<void>,
) {
  const firsts = firstOfEachId(plants);
  const ids = [...firsts.keys()].sort((a, b) => (a < b ? -1 : 1));
  const created = await insertPlants(
    query,
    ids.map((id) => firsts.get(id) as PlantToCreate),
    nowMs,
  );
  if (created.size === plants.length) return plants.map((): CreateOutcome => 'created');

  const found = await storedPlants(
    query,
    ids.filter((id) => !created.has(id)),
  );
  const outcomes = plants.map((plant): CreateOutcome => {
    const isFirst = firsts.get(plant.id) === plant;
    if (isFirst && created.has(plant.id)) return 'created';
    const stored = created.has(plant.id) ? firsts.get(plant.id) : found.get(plant.id);
    // The database gives way to others in a manner that it should not, or somebody has removed a plant by hand.
    if (stored === undefined) throw new StoreError('unavailable', `the database neither takes the plant ${plant.id} nor has it`);
    return stored.name === plant.name && stored.tag === plant.tag ? 'same' : 'taken';
  });
  if (found.size > 0) await confirm(query);
  return outcomes;
}

function firstOfEachId(plants: readonly PlantToCreate[]): Map<bigint, PlantToCreate> {
  const firsts = new Map<bigint, PlantToCreate>();
  for (const plant of plants) if (!firsts.has(plant.id)) firsts.set(plant.id, plant);
  return firsts;
}

/** Where there are fewer times than plants, unnest() fills up with NULL. */
const insert = `
  INSERT INTO plants (id, name, tag, created_at, created_by)
  SELECT id, name, tag, coalesce(created_at, $4::bigint), created_by
  FROM unnest($1::bigint[], $2::text[], $3::text[], $5::bigint[], $6::bigint[]) AS new (id, name, tag, created_by, created_at)
  ON CONFLICT (id) DO NOTHING RETURNING id`;

/** @returns the ids of those that are new */
async function insertPlants(query: Query, plants: readonly (PlantToCreate | CopiedPlant)[], nowMs: number): Promise<Set<bigint>> {
  const { rows } = await query(insert, [
    plants.map(({ id }) => id),
    plants.map(({ name }) => name),
    plants.map(({ tag }) => tag),
    nowMs,
    plants.map(({ createdBy }) => createdBy),
    plants.flatMap((plant) => ('createdAtMs' in plant ? [plant.createdAtMs] : [])),
  ]);
  return new Set(rows.map(([id]) => id as bigint));
}

/** Text is compared here and not there, where a collation may have a say. */
async function storedPlants(query: Query, ids: readonly bigint[]): Promise<Map<bigint, Plant>> {
  if (ids.length === 0) return new Map();
  const { rows } = await query('SELECT id, name, tag FROM plants WHERE id = ANY($1::bigint[])', [ids]);
  return new Map(rows.map(([id, name, tag]) => [id, { name, tag: tag ?? undefined }]));
}
