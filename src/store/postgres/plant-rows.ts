import type { QueryArrayResult } from 'pg';
import { limits } from '../../limits.ts';
import type { PlantPage, PlantRange } from '../plant-search.ts';
import type { CopiedPlant, CountedPlants } from '../plants.ts';
import {
  fixedTokenName,
  importId,
  importName,
  listedTokenName,
  unlistedTokenName,
} from '../tokens.ts';
import type { IdEnds, IdRange } from './id-ranges.ts';
import type { Query } from './pool.ts';

type Names = ReadonlyMap<bigint, string>;

/** Joins no tokens: a distributed database may keep them on another machine. */
export async function plantPage(query: Query, range: PlantRange): Promise<PlantPage> {
  const createdBy =
    range.createdBy === undefined ? undefined : await idsNamed(query, range.createdBy);
  const rowsMax = Math.min(range.limit, limits.postgres.pageRows);
  const { rows, isLast } = await rowPage(
    query,
    rowsMax,
    limits.store.listPageChars,
    conditions(range, createdBy),
  );
  const names = await namesOf(query, new Set(rows.map((row) => row[4])));
  const plants = rows.map(([id, name, tag, createdAtMs, createdBy]) => ({
    id,
    name,
    tag: tag ?? undefined,
    createdAtMs: Number(createdAtMs),
    createdBy: names.get(createdBy) ?? fixedTokenName,
  }));
  return { plants, isLast: isLast || rows.length === range.limit };
}

export async function snapshotPage(
  query: Query,
  range: IdRange,
): Promise<{ plants: CopiedPlant[]; isLast: boolean }> {
  const { rows, isLast } = await rowPage(
    query,
    limits.store.snapshotPagePlants,
    limits.store.snapshotPageChars,
    conditions(range, undefined),
  );
  const plants = rows.map(([id, name, tag, createdAtMs, createdBy]) => ({
    id,
    name,
    tag: tag ?? undefined,
    createdAtMs: Number(createdAtMs),
    createdBy: Number(createdBy),
  }));
  return { plants, isLast };
}

/**
 * The next rows: at most `rowsMax`, and about `textMax` bytes of text. The server knows the length
 * of a large text without reading it.
 */
async function rowPage(
  query: Query,
  rowsMax: number,
  textMax: number,
  { where, values }: Conditions,
): Promise<Pick<QueryArrayResult, 'rows'> & { isLast: boolean }> {
  const { rows } = await query(
    `SELECT id, name, tag, created_at, created_by, found FROM (
      SELECT *, count(*) OVER () AS found, sum(size) OVER (ORDER BY id) - size AS before FROM (
        SELECT id, name, tag, created_at, created_by, 1 + octet_length(name) + coalesce(octet_length(tag), 0) AS size
        FROM plants WHERE ${where} ORDER BY id LIMIT $1) AS next) AS sized
    WHERE before < $2 ORDER BY id`,
    [rowsMax, textMax, ...values],
  );
  const found = Number(rows[0]?.[5] ?? 0);
  return { rows, isLast: rows.length === found && found < rowsMax };
}

/** Least and greatest id after `after`. */
export async function idEnds(query: Query, after: bigint | undefined): Promise<IdEnds | undefined> {
  const from = after === undefined ? '' : 'WHERE id > $1';
  const { rows } = await query(
    `SELECT min(id), max(id) FROM plants ${from}`,
    after === undefined ? [] : [after],
  );
  const [first, last] = rows[0] as [bigint, bigint] | [null, null];
  return first === null ? undefined : { first, last };
}

interface Conditions {
  /** The first parameter is `$3`. */
  readonly where: string;
  readonly values: readonly unknown[];
}

function conditions(
  { id, after, upTo, tag, nameContains, sinceMs }: Omit<PlantRange, 'limit'>,
  createdBy: readonly bigint[] | undefined,
): Conditions {
  const given: readonly (readonly [sql: (place: string) => string, value: unknown])[] = [
    [(place) => `id = ${place}`, id],
    [(place) => `id > ${place}`, after],
    [(place) => `id <= ${place}`, upTo],
    [(place) => `tag = ${place}`, tag],
    [(place) => `strpos(name, ${place}) > 0`, nameContains],
    [(place) => `created_by = ANY(${place}::bigint[])`, createdBy],
    [(place) => `created_at >= ${place}`, sinceMs],
  ];
  const used = given.filter(([, value]) => value !== undefined);
  const where = ['TRUE', ...used.map(([sql], index) => sql(`$${index + 3}`))].join(' AND ');
  return { where, values: used.map(([, value]) => value) };
}

const namesWithoutToken: Names = new Map([
  [0n, fixedTokenName],
  [BigInt(importId), importName],
]);

/** Earlier versions made tokens with the reserved names: so one name can have several tokens. */
async function idsNamed(query: Query, name: string): Promise<bigint[]> {
  const ofNoToken = [...namesWithoutToken].flatMap(([id, one]) => (one === name ? [id] : []));
  const named = unlistedTokenName(name);
  if (named === undefined) return ofNoToken;
  const { rows } = await query('SELECT id FROM tokens WHERE name = $1', [named]);
  return rows.map(([id]) => id);
}

async function namesOf(query: Query, ids: ReadonlySet<bigint>): Promise<Names> {
  if (ids.size === 0) return namesWithoutToken;
  const { rows } = await query('SELECT id, name FROM tokens WHERE id = ANY($1::bigint[])', [
    [...ids],
  ]);
  return new Map([
    ...namesWithoutToken,
    ...rows.map(([id, name]) => [id, listedTokenName(name)] as const),
  ]);
}

export async function countPlants(query: Query): Promise<number> {
  const { rows } = await query('SELECT count(*) FROM plants');
  return Number(rows[0]?.[0]);
}

export async function countPlantsAfter(
  query: Query,
  after: bigint | undefined,
  plantsMax: number,
): Promise<CountedPlants> {
  const from = after === undefined ? '' : 'WHERE id > $2';
  const { rows } = await query(
    `SELECT count(*), max(id) FROM (SELECT id FROM plants ${from} ORDER BY id LIMIT $1) AS next`,
    after === undefined ? [plantsMax] : [plantsMax, after],
  );
  const [plants, last] = rows[0] as [bigint, bigint | null];
  return { plants: Number(plants), last: last ?? undefined };
}
