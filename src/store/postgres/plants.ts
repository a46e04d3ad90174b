import { isSamePlant, type NewPlant, type Plant } from '../../contract/plant.ts';
import { limits } from '../../limits.ts';
import { StoreError } from '../errors.ts';
import type { CopiedPlant, CreateOutcome, PlantToCreate } from '../plants.ts';
import type { Query } from './transaction.ts';

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
  plants: readonly (PlantToCreate | CopiedPlant)[],
  nowMs: number,
  confirm: (query: Query) => Promise<void>,
): Promise<readonly CreateOutcome[]> {
  const firsts = firstOfEachId(plants);
  const { rows } = await insert(query, firsts, nowMs);
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
    // The database resolves conflicts wrongly, or someone has deleted a plant by hand.
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

/** In ascending order of id. The sort is stable: the first plant of each id comes first. */
function firstOfEachId<T extends PlantToCreate>(plants: readonly T[]): T[] {
  const ascending = plants.toSorted((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id)));
  return ascending.filter(({ id }, index) => id !== ascending[index - 1]?.id);
}

/**
 * Inserts new plants, and returns their ids. Citus deals out the rows of VALUES at once, and those
 * of a SELECT through files on each worker: 1.7 times the rate with 200 plants, and 4 with 20.
 */
function insert(query: Query, plants: readonly (PlantToCreate | CopiedPlant)[], nowMs: number) {
  if (!query.isCitus || plants.length > limits.postgres.citusRowsMax)
    return query(insertSql, insertValues(plants, nowMs));
  const values = plants.flatMap(({ id, name, tag, createdBy, ...rest }) => [
    ...[id, name, tag, 'createdAtMs' in rest ? rest.createdAtMs : nowMs, createdBy],
  ]);
  const rows = plants.map((_, row) => `(${[1, 2, 3, 4, 5].map((place) => `$${5 * row + place}`)})`);
  return query(`${insertInto} VALUES ${rows} ${onConflict}`, values);
}

const insertInto = 'INSERT INTO plants (id, name, tag, created_at, created_by)';
const onConflict = 'ON CONFLICT (id) DO NOTHING RETURNING id';

/** unnest() fills missing times with NULL. */
const insertSql = `${insertInto}
  SELECT id, name, tag, coalesce(created_at, $4::bigint), created_by
  FROM unnest($1::bigint[], $2::text[], $3::text[], $5::bigint[], $6::bigint[]) AS new (id, name,
    tag, created_by, created_at) ${onConflict}`;

function insertValues(plants: readonly (PlantToCreate | CopiedPlant)[], nowMs: number): unknown[] {
  return [
    plants.map(({ id }) => id),
    plants.map(({ name }) => name),
    plants.map(({ tag }) => tag),
    nowMs,
    plants.map(({ createdBy }) => createdBy),
    plants.flatMap((plant) => ('createdAtMs' in plant ? [plant.createdAtMs] : [])),
  ];
}

/** Text is compared in the program, because a collation may call different texts equal. */
export async function storedPlants(
  query: Query,
  plants: readonly NewPlant[],
): Promise<Map<bigint, Plant>> {
  if (plants.length === 0) return new Map();
  const { rows } = await query('SELECT id, name, tag FROM plants WHERE id = ANY($1::bigint[])', [
    plants.map(({ id }) => id),
  ]);
  return new Map(rows.map(([id, name, tag]) => [id, { name, tag: tag ?? undefined }]));
}
