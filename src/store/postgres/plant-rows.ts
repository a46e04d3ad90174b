import type { QueryArrayResult } from 'pg';
import { limits } from '../../limits.ts';
import type { CountedPlants, PlantPage, PlantRange } from '../plant-search.ts';
import type { CopiedPlant, PlantMatch } from '../plants.ts';
import {
  fixedTokenId,
  fixedTokenName,
  forgottenName,
  importId,
  importName,
  listedTokenName,
  unlistedTokenName,
} from '../tokens.ts';
import type { Query } from './transaction.ts';

type Names = ReadonlyMap<bigint, string>;

/** Joins no tokens: a distributed database may keep them on another machine. */
export async function plantPage(query: Query, range: PlantRange): Promise<PlantPage> {
  const rowsMax = Math.min(range.limit, limits.postgres.pageRows);
  const { plants, isLast } = await filteredPage(query, rowsMax, 'id', range, [
    [(place) => `id = ${place}`, range.id],
    [(place) => `id > ${place}`, range.after],
    [(place) => `id <= ${place}`, range.upTo],
  ]);
  return { plants, isLast: isLast || plants.length === range.limit };
}

/** Plants up to `limits.store.listPageChars`. @param order columns of the plants */
export async function filteredPage(
  query: Query,
  rowsMax: number,
  order: string,
  match: PlantMatch,
  range: readonly Condition[],
): Promise<PlantPage> {
  const { rows, isLast } = await rowPage(
    query,
    rowsMax,
    limits.store.listPageChars,
    clause([...range, ...(await matchConditions(query, match))]),
    order,
  );
  const names = await namesOf(query, new Set(rows.map((row) => row[4])));
  const plants = rows.map(([id, name, tag, createdAtMs, createdBy]) => ({
    id,
    name,
    tag: tag ?? undefined,
    createdAtMs: Number(createdAtMs),
    createdBy: names.get(createdBy) ?? forgottenName,
  }));
  return { plants, isLast };
}

export async function snapshotPage(
  query: Query,
  after: bigint | undefined,
): Promise<{ plants: CopiedPlant[]; isLast: boolean }> {
  const { rows, isLast } = await rowPage(
    query,
    limits.store.snapshotPagePlants,
    limits.store.snapshotPageChars,
    clause([[(place) => `id > ${place}`, after]]),
    'id',
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
  { where, values }: Clause,
  order: string,
): Promise<Pick<QueryArrayResult, 'rows'> & { isLast: boolean }> {
  const { rows } = await query(
    `SELECT id, name, tag, created_at, created_by, found FROM (
      SELECT *, count(*) OVER () AS found, sum(size) OVER (ORDER BY ${order}) - size AS before FROM
        (
        SELECT *, 1 + octet_length(name) + coalesce(octet_length(tag), 0) AS size
        FROM plants WHERE ${where} ORDER BY ${order} LIMIT $1) AS next) AS sized
    WHERE before < $2 ORDER BY ${order}`,
    [rowsMax, textMax, ...values],
  );
  const found = Number(rows[0]?.[5] ?? 0);
  return { rows, isLast: rows.length === found && found < rowsMax };
}

export type Condition = readonly [sql: (place: string) => string, value: unknown];

interface Clause {
  /** The first parameter is `$3`. */
  readonly where: string;
  readonly values: readonly unknown[];
}

/** Conditions without a value are left out. */
function clause(given: readonly Condition[]): Clause {
  const used = given.filter(([, value]) => value !== undefined);
  const where = ['TRUE', ...used.map(([sql], index) => sql(`$${index + 3}`))].join(' AND ');
  return { where, values: used.map(([, value]) => value) };
}

async function matchConditions(
  query: Query,
  { tag, nameContains, createdBy, sinceMs, untilMs }: PlantMatch,
): Promise<readonly Condition[]> {
  const ids = createdBy === undefined ? undefined : await idsNamed(query, createdBy);
  const fold = nameContains === undefined ? String : await foldCase(query);
  return [
    [(place) => `created_at >= ${place}`, sinceMs],
    [(place) => `created_at < ${place}`, untilMs],
    [(place) => `created_by = ANY(${place}::bigint[])`, ids],
    [(place) => `tag = ${place}::text`, tag],
    [(place) => `strpos(${fold('name')}, ${fold(`${place}::text`)}) > 0`, nameContains],
  ];
}

/**
 * Letters of all alphabets, if the server has ICU. Otherwise the locale of the database decides: C
 * knows ASCII only.
 */
async function foldCase(query: Query): Promise<(text: string) => string> {
  const { rows } = await query("SELECT 1 FROM pg_collation WHERE collname = 'und-x-icu'");
  const collate = rows.length > 0 ? ' COLLATE "und-x-icu"' : '';
  return (text) => `upper(${text}${collate})`;
}

const namesWithoutToken: Names = new Map([
  [BigInt(fixedTokenId), fixedTokenName],
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
  match: PlantMatch = {},
): Promise<CountedPlants> {
  const { where, values } = clause(await matchConditions(query, match));
  const from = after === undefined ? '$2::bigint IS NULL' : 'id > $2';
  const { rows } = await query(
    `SELECT count(*) FILTER (WHERE ${where}), count(*), max(id)
     FROM (SELECT * FROM plants WHERE ${from} ORDER BY id LIMIT $1) AS next`,
    [plantsMax, after ?? null, ...values],
  );
  const [plants, lookedAt, last] = rows[0] as [bigint, bigint, bigint | null];
  return { plants: Number(plants), lookedAt: Number(lookedAt), last: last ?? undefined };
}
