import type { Place } from './plant-search.ts';
import type { CopiedPlant, CountedMatches, PlantMatch, StoredPlant } from './plants.ts';
import { joined, raw, type Statement, type Steps, sql } from './tables/steps.ts';
import {
  fixedTokenId,
  fixedTokenName,
  forgottenName,
  importId,
  importName,
} from './tables/tokens.ts';

/* What the statements that read plants have in common in both engines. */

export const plantColumns = sql`plants.id, plants.name, tag, plants.created_at, created_by`;

export function* getPlant(id: bigint): Steps<StoredPlant | undefined> {
  const rows = yield* rowsOf<PlantRow>(sql`SELECT ${plantColumns} FROM plants WHERE id = ${id}`);
  return (yield* withCreators(rows))[0];
}

export function* countPlants(match: readonly Condition[] = []): Steps<number> {
  const count = sql`SELECT count(*) FROM plants WHERE ${allOf(match)}`;
  return Number((yield* rowsOf<[bigint]>(count))[0]?.[0]);
}

function* newestBefore(ms: number): Steps<number | undefined> {
  const newest = sql`SELECT max(created_at) FROM plants WHERE created_at < ${ms}`;
  const [row] = yield* rowsOf<[bigint | null]>(newest);
  return row?.[0] ? Number(row[0]) : undefined;
}

/** The sums of 500 billion plants fit into an int64. One binds ids to times. */
function* sumsBefore(ms: number): Steps<{ plants: number; sums: string }> {
  const rows = yield* rowsOf<unknown[]>(sql`
    SELECT count(*), sum(id & 16777215), sum((id >> 24) & 16777215), sum(id >> 48),
      sum(created_at & 16777215), sum(((id & 65535) * (created_at & 65535)) & 16777215)
    FROM plants WHERE created_at < ${ms}`);
  const [[plants, ...sums] = []] = rows;
  return { plants: Number(plants), sums: sums.join(' ') };
}

export const snapshotReads = { countPlants: () => countPlants(), newestBefore, sumsBefore };

/** Looks at up to `plantsMax` plants, and counts those that match. */
export function* countPlantsAfter(
  after: bigint | undefined,
  plantsMax: number,
  match: readonly Condition[],
): Steps<CountedMatches> {
  const [row] = yield* rowsOf<[plants: bigint, last: bigint | null]>(sql`
    SELECT count(*) FILTER (WHERE ${allOf(match)}), max(id) FROM (SELECT * FROM plants
      WHERE ${allOf([idAfter(after)])} ORDER BY id LIMIT ${plantsMax}) AS plants`);
  const [plants = 0n, last] = row ?? [];
  return { plants: Number(plants), next: last ?? undefined };
}

/** Rows are arrays, and whole numbers are bigints. */
export function* rowsOf<Row>(statement: Statement): Steps<Row[]> {
  return (yield { ...statement, isExact: true }).rows as unknown as Row[];
}

/** Undefined where nothing is demanded. */
export type Condition = Statement | undefined;

export function allOf(conditions: readonly Condition[]): Statement {
  return joined([sql`TRUE`, ...conditions.filter((one) => one !== undefined)], ' AND ');
}

export function idAfter(after: bigint | undefined): Condition {
  return after === undefined ? undefined : sql`plants.id > ${after}`;
}

/** @param nameHas the condition for a part of the name */
export function* matchConditions(
  match: PlantMatch,
  nameHas: (part: string) => Statement,
): Steps<Condition[]> {
  const { tag, createdBy, nameContains } = match;
  const ids = createdBy === undefined ? undefined : yield* idsOfCreator(createdBy);
  return [
    ...timeConditions(match),
    ids && sql`created_by IN ${listOf(ids)}`,
    tag === undefined ? undefined : sql`tag = ${tag}`,
    nameContains === undefined ? undefined : nameHas(nameContains),
  ];
}

export function timeConditions({ sinceMs, untilMs }: PlantMatch): Condition[] {
  return [
    sinceMs === undefined ? undefined : sql`plants.created_at >= ${sinceMs}`,
    untilMs === undefined ? undefined : sql`plants.created_at < ${untilMs}`,
  ];
}

/** @returns the place of the last of the next `plantsMax` plants; undefined: there are fewer */
export function* lastOfNext(
  columns: Statement,
  order: Statement,
  from: readonly Condition[],
  plantsMax: number,
): Steps<Place | undefined> {
  const rows = yield* rowsOf<Place>(sql`
    SELECT ${columns} FROM plants WHERE ${allOf(from)} ORDER BY ${order}
    LIMIT 1 OFFSET ${plantsMax - 1}`);
  return rows[0];
}

/** The values of `plantColumns`. */
export type PlantRow = [
  id: bigint,
  name: string,
  tag: string | null,
  createdAtMs: bigint,
  createdBy: bigint,
  ...more: bigint[],
];

export function plantOf([id, name, tag, createdAtMs, createdBy]: PlantRow): CopiedPlant {
  return {
    id,
    name,
    tag: tag ?? undefined,
    createdAtMs: Number(createdAtMs),
    createdBy: Number(createdBy),
  };
}

const creatorsWithoutToken = [
  [fixedTokenId, fixedTokenName],
  [importId, importName],
] as const;

/** Joins no tables: a distributed database may keep the tokens on another machine. */
export function* withCreators(rows: readonly PlantRow[]): Steps<StoredPlant[]> {
  const plants = rows.map(plantOf);
  const ids = new Set(plants.map(({ createdBy }) => createdBy));
  const tokens = yield sql`SELECT id, name FROM tokens WHERE id IN ${listOf([...ids])}`;
  const names = new Map<unknown, string>([
    ...creatorsWithoutToken,
    ...tokens.rows.map(({ id, name }) => [id, name as string] as const),
  ]);
  return plants.map((plant) => ({
    ...plant,
    createdBy: names.get(plant.createdBy) ?? forgottenName,
  }));
}

/** All secrets of a name are tokens of its own. */
function* idsOfCreator(name: string): Steps<number[]> {
  const withoutToken = creatorsWithoutToken.find(([, one]) => one === name);
  if (withoutToken !== undefined) return [withoutToken[0]];
  const { rows } = yield sql`SELECT id FROM tokens WHERE name = ${name}`;
  return rows.map(({ id }) => id as number);
}

/** A list with NULL may have no other element. */
function listOf(ids: readonly number[]): Statement {
  return raw(`(${['NULL', ...ids]})`);
}
