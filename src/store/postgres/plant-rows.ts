import { limits } from '../../limits.ts';
import type { PlantPage } from '../paging.ts';
import { type CountedPlants, importId, type PlantFilter } from '../store.ts';
import type { Query } from './pool.ts';

export interface PlantRange extends PlantFilter {
  readonly id?: bigint;
  readonly upTo?: bigint;
}

/** Who has brought plants, by `created_by`. */
type Names = ReadonlyMap<bigint, string>;

/**
 * The next plants, up to `limits.listPageChars`. Tokens are not joined to plants, because a distributed database may have them elsewhere.
 */
export async function plantPage(query: Query, { limit, ...filter }: PlantRange): Promise<PlantPage> {
  const names = await namesOfTokens(query);
  const rowsMax = Math.min(limit, limits.databasePageRows);
  const { where, values } = conditions(filter, names);
  const { rows } = await query(
    `SELECT id, name, tag, created_at, created_by, found FROM (
      SELECT *, count(*) OVER () AS found, sum(size) OVER (ORDER BY id) - size AS before FROM (
        SELECT id, name, tag, created_at, created_by, 1 + length(name) + coalesce(length(tag), 0) AS size
        FROM plants WHERE ${where} ORDER BY id LIMIT $1) AS next) AS sized
    WHERE before < $2 ORDER BY id`,
    [rowsMax, limits.listPageChars, ...values],
  );
  const plants = rows.map(([id, name, tag, createdAtMs, createdBy]) => ({
    id,
    name,
    tag: tag ?? undefined,
    createdAtMs: Number(createdAtMs),
    createdBy: names.get(createdBy) ?? 'environment',
  }));
  const found = Number(rows[0]?.[5] ?? 0);
  return { plants, isLast: plants.length === found && (found < rowsMax || found === limit) };
}

function conditions({ id, after, upTo, tag, nameContains, createdBy, sinceMs }: Omit<PlantRange, 'limit'>, names: Names) {
  const given: readonly (readonly [sql: (place: string) => string, value: unknown])[] = [
    [(place) => `id = ${place}`, id],
    [(place) => `id > ${place}`, after],
    [(place) => `id <= ${place}`, upTo],
    [(place) => `tag = ${place}`, tag],
    [(place) => `strpos(name, ${place}) > 0`, nameContains],
    [(place) => `created_by = ANY(${place}::bigint[])`, createdBy === undefined ? undefined : idsNamed(createdBy, names)],
    [(place) => `created_at >= ${place}`, sinceMs],
  ];
  const used = given.filter(([, value]) => value !== undefined);
  const where = ['TRUE', ...used.map(([sql], index) => sql(`$${index + 3}`))].join(' AND ');
  return { where, values: used.map(([, value]) => value) };
}

function idsNamed(wanted: string, names: Names): bigint[] {
  return [...names].flatMap(([id, name]) => (name === wanted ? [id] : []));
}

async function namesOfTokens(query: Query): Promise<Names> {
  const { rows } = await query('SELECT id, name FROM tokens');
  return new Map([[0n, 'environment'], [BigInt(importId), 'import'], ...rows.map(([id, name]) => [id, name] as const)]);
}

export async function countPlants(query: Query): Promise<number> {
  const { rows } = await query('SELECT count(*) FROM plants');
  return Number(rows[0]?.[0]);
}

export async function countPlantsAfter(query: Query, after: bigint | undefined, plantsMax: number): Promise<CountedPlants> {
  const from = after === undefined ? '' : 'WHERE id > $2';
  const { rows } = await query(
    `SELECT count(*), max(id) FROM (SELECT id FROM plants ${from} ORDER BY id LIMIT $1) AS next`,
    after === undefined ? [plantsMax] : [plantsMax, after],
  );
  const [plants, last] = rows[0] as [bigint, bigint | null];
  return { plants: Number(plants), last: last ?? undefined };
}
