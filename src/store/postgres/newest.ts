import { int64Max, int64Min } from '../../contract/int64.ts';
import { limits } from '../../limits.ts';
import { type NewestWindow, type Position, parsePosition, positionText } from '../plant-search.ts';
import type { PlantFilter, StoredPlant } from '../plants.ts';
import { type Condition, filteredPage } from './plant-rows.ts';
import type { Query } from './transaction.ts';

/** The index `plants_newest` has the plants in this order. A position has both columns. */
const order = 'created_at DESC, id DESC';

/** @param filter its `limit` counts the plants of this window */
export async function newestWindow(
  query: Query,
  position: string | undefined,
  plantsMax: number,
  filter: PlantFilter,
): Promise<NewestWindow | undefined> {
  const start = position === undefined ? startOf(filter) : parsePosition(position);
  if (start === undefined) return undefined;
  const end = await endOf(query, start, plantsMax, filter);
  const rowsMax = Math.min(filter.limit, limits.postgres.pageRows);
  const { plants, isLast } = await filteredPage(query, rowsMax, order, filter, [
    isBeside('<', start),
    ...(end === undefined ? [] : [isBeside('>=', end)]),
  ]);
  const found = plants.map((plant) => ({ plant, position: positionOf(plant) }));
  if (!isLast) return { found, isWhole: false, next: found.at(-1)?.position };
  return { found, isWhole: true, next: end && positionText(...end) };
}

function startOf({ untilMs }: PlantFilter): Position {
  return [untilMs === undefined ? int64Max : BigInt(untilMs), int64Min];
}

/** The last of `plantsMax` plants; undefined if there are fewer. */
async function endOf(
  query: Query,
  [createdAt, id]: Position,
  plantsMax: number,
  { sinceMs = 0 }: PlantFilter,
): Promise<Position | undefined> {
  const { rows } = await query(
    `SELECT created_at, id FROM plants
     WHERE (created_at, id) < ($1::bigint, $2::bigint) AND created_at >= $3::bigint
     ORDER BY ${order} OFFSET $4::bigint LIMIT 1`,
    [createdAt, id, sinceMs, plantsMax - 1],
  );
  return rows[0] as [bigint, bigint] | undefined;
}

function isBeside(operator: '<' | '>=', [createdAt, id]: Position): Condition {
  return [(place) => `(created_at, id) ${operator} (${createdAt}, ${place}::bigint)`, id];
}

function positionOf({ createdAtMs, id }: StoredPlant): string {
  return positionText(BigInt(createdAtMs), id);
}
