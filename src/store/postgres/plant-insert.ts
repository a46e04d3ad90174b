import type { NewPlant, Plant } from '../../contract/plant.ts';
import { limits } from '../../limits.ts';
import type { CopiedPlant, PlantToCreate } from '../plants.ts';
import type { PgStatement, Query } from './transaction.ts';

export type NewPlants = readonly (PlantToCreate | CopiedPlant)[];

/**
 * Inserts new plants, and returns their ids. Citus deals out the rows of VALUES at once, and those
 * of a SELECT through files on each worker: 1.7 times the rate with 200 plants, and 4 with 20.
 */
export function insertOf({ isCitus }: Query, plants: NewPlants, nowMs: number): PgStatement {
  if (!isCitus || plants.length > limits.postgres.citusRowsMax)
    return { text: insertSql, values: insertValues(plants, nowMs) };
  const values = plants.flatMap(({ id, name, tag, createdBy, ...rest }) => [
    ...[id, name, tag, 'createdAtMs' in rest ? rest.createdAtMs : nowMs, createdBy],
  ]);
  const rows = plants.map((_, row) => `(${[1, 2, 3, 4, 5].map((place) => `$${5 * row + place}`)})`);
  return { text: `${insertInto} VALUES ${rows} ${onConflict}`, values };
}

const insertInto = 'INSERT INTO plants (id, name, tag, created_at, created_by)';
const onConflict = 'ON CONFLICT (id) DO NOTHING RETURNING id';

/** unnest() fills missing times with NULL. */
const insertSql = `${insertInto}
  SELECT id, name, tag, coalesce(created_at, $4::bigint), created_by
  FROM unnest($1::bigint[], $2::text[], $3::text[], $5::bigint[], $6::bigint[]) AS new (id, name,
    tag, created_by, created_at) ${onConflict}`;

function insertValues(plants: NewPlants, nowMs: number): unknown[] {
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
