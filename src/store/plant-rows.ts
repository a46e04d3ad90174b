import type { Place } from './plant-search.ts';
import type { CopiedPlant, CountedMatches, PlantMatch, StoredPlant } from './plants.ts';
import { run, type Statement, type Steps } from './tables/steps.ts';
import {
  fixedTokenId,
  fixedTokenName,
  forgottenName,
  importId,
  importName,
} from './tables/tokens.ts';

/* What the statements that read plants have in common in both engines. */

export function* getPlant(id: bigint): Steps<StoredPlant | undefined> {
  const text = `SELECT ${plantColumns} FROM plants WHERE id = ?`;
  return (yield* withCreators(yield* rowsOf<PlantRow>({ text, values: [id] })))[0];
}

export function* countPlants(match: readonly Condition[] = []): Steps<number> {
  const { text, values } = allOf(match);
  const count = { text: `SELECT count(*) FROM plants WHERE ${text}`, values };
  const [row] = yield* rowsOf<[bigint]>(count);
  return Number(row?.[0]);
}

export function* newestBefore(ms: number): Steps<number | undefined> {
  const text = 'SELECT max(created_at) FROM plants WHERE created_at < ?';
  const [row] = yield* rowsOf<[bigint | null]>({ text, values: [ms] });
  return row?.[0] ? Number(row[0]) : undefined;
}

/** The sums of 500 billion plants fit into an int64. One binds ids to times. */
export function* sumsBefore(ms: number): Steps<{ plants: number; sums: string }> {
  const text = `SELECT count(*), sum(id & 16777215), sum((id >> 24) & 16777215), sum(id >> 48),
      sum(created_at & 16777215), sum(((id & 65535) * (created_at & 65535)) & 16777215)
    FROM plants WHERE created_at < ?`;
  const [[plants, ...sums] = []] = yield* rowsOf<unknown[]>({ text, values: [ms] });
  return { plants: Number(plants), sums: sums.join(' ') };
}

/** Looks at up to `plantsMax` plants, and counts those that match. */
export function* countPlantsAfter(
  after: bigint | undefined,
  plantsMax: number,
  match: readonly Condition[],
): Steps<CountedMatches> {
  const [matches, from] = [allOf(match), allOf([['id > ?', after]])];
  const [row] = yield* rowsOf<[plants: bigint, lookedAt: bigint, last: bigint | null]>({
    text: `SELECT count(*) FILTER (WHERE ${matches.text}), count(*), max(id)
      FROM (SELECT * FROM plants WHERE ${from.text} ORDER BY id LIMIT ?) AS plants`,
    values: [...matches.values, ...from.values, plantsMax],
  });
  const [plants = 0n, lookedAt = 0n, last] = row ?? [];
  return { plants: Number(plants), lookedAt: Number(lookedAt), next: last ?? undefined };
}

/** Rows are arrays, and whole numbers are bigints. */
export function* rowsOf<Row>(statement: PlantStatement): Steps<Row[]> {
  return (yield { ...statement, isExact: true }).rows as unknown as Row[];
}

/** A question mark stands for each value. */
export type PlantStatement = Pick<Statement, 'text' | 'values'>;

type Value = Statement['values'][number];

/** A condition with an undefined value is left out. */
export type Condition = readonly [text: string, ...values: (Value | undefined)[]];

export function allOf(conditions: readonly Condition[]): PlantStatement {
  const used = conditions.filter(([, ...values]) => !values.includes(undefined));
  return {
    text: ['TRUE', ...used.map(([text]) => text)].join(' AND '),
    values: used.flatMap(([, ...values]) => values as Value[]),
  };
}

/** @param nameContains the condition for a part of the name */
export function* matchConditions(match: PlantMatch, nameContains: string): Steps<Condition[]> {
  const { tag, createdBy } = match;
  const ids = createdBy === undefined ? undefined : yield* idsOfCreator(createdBy);
  return [
    ...timeConditions(match),
    ...(ids ? [[`created_by IN (${['NULL', ...ids]})`] as const] : []),
    ['tag = ?', tag],
    [nameContains, match.nameContains],
  ];
}

export function timeConditions({ sinceMs, untilMs }: PlantMatch): Condition[] {
  return [
    ['plants.created_at >= ?', sinceMs],
    ['plants.created_at < ?', untilMs],
  ];
}

/** @returns the place of the last of the next `plantsMax` plants; undefined: there are fewer */
export function* lastOfNext(
  columns: string,
  order: string,
  from: readonly Condition[],
  plantsMax: number,
): Steps<Place | undefined> {
  const { text, values } = allOf(from);
  const rows = yield* rowsOf<Place>({
    text: `SELECT ${columns} FROM plants WHERE ${text} ORDER BY ${order} LIMIT 1 OFFSET ?`,
    values: [...values, plantsMax - 1],
  });
  return rows[0];
}

export const plantColumns = 'plants.id, plants.name, tag, plants.created_at, created_by';

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
  const tokens = yield* run(`SELECT id, name FROM tokens WHERE id IN (${['NULL', ...ids]})`);
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
  const { rows } = yield* run('SELECT id FROM tokens WHERE name = $1', name);
  return rows.map(({ id }) => id as number);
}
