import type { DatabaseSync } from 'node:sqlite';
import { limits } from '../../limits.ts';
import type { CountedPlants, PlantPage, PlantRange } from '../plant-search.ts';
import type { PlantMatch, StoredPlant } from '../plants.ts';
import {
  fixedTokenId,
  fixedTokenName,
  forgottenName,
  importId,
  importName,
  namesOfNoToken,
  ofTokenMark,
  unlistedTokenName,
} from '../tokens.ts';

/** The next plants, up to `limits.store.listPageChars`. */
export function plantPage(db: DatabaseSync, filter: PlantRange): PlantPage {
  const plants: StoredPlant[] = [];
  let chars = 0;
  for (const row of plantRows(db, filter)) {
    const plant = storedPlant(row);
    plants.push(plant);
    chars += charsOf(plant);
    if (chars >= limits.store.listPageChars) return { plants, isLast: false };
  }
  return { plants, isLast: true };
}

export function charsOf({ name, tag }: StoredPlant): number {
  return 1 + name.length + (tag?.length ?? 0);
}

export function countPlants(db: DatabaseSync): number {
  return Number(db.prepare('SELECT count(*) AS n FROM plants').get()?.['n']);
}

/** Looks at up to `plantsMax` plants, and counts those that match. */
export function countPlantsAfter(
  db: DatabaseSync,
  after: bigint | undefined,
  plantsMax: number,
  match: PlantMatch = {},
): CountedPlants {
  const { where, values } = clause(matchConditions(match));
  const filter = values.length === 0 ? '' : `FILTER (WHERE ${where})`;
  const from = after === undefined ? '' : 'WHERE id > ?';
  const count = db.prepare(
    `SELECT count(*) ${filter} AS plants, count(*) AS lookedAt, max(id) AS last
     FROM (SELECT * FROM plants ${from} ORDER BY id LIMIT ?) AS plants`,
  );
  count.setReadBigInts(true);
  const row = count.get(...values, ...(after === undefined ? [] : [after]), plantsMax);
  const { plants, lookedAt, last } = row as Record<string, bigint | null>;
  return { plants: Number(plants), lookedAt: Number(lookedAt), last: last ?? undefined };
}

const reserved = namesOfNoToken.map((name) => `'${name}'`).join(', ');
/** `listedTokenName` in SQL. */
const createdBy = `CASE
  WHEN created_by = ${fixedTokenId} THEN '${fixedTokenName}'
  WHEN created_by = ${importId} THEN '${importName}'
  WHEN tokens.name IN (${reserved}) THEN tokens.name || '${ofTokenMark}'
  ELSE coalesce(tokens.name, '${forgottenName}') END`;

type Row = Record<string, unknown>;
type Condition = readonly [sql: string, value: string | bigint | number | undefined];

export interface PlantSource {
  /** What FROM names, with the table of plants. */
  readonly from: string;
  readonly values: readonly string[];
  /** A column or expression that tells the place of the row. */
  readonly place: string;
  /** Undefined: rows come in the order of the first table in `from`. */
  readonly order: string | undefined;
  readonly conditions: readonly Condition[];
}

const inOrderOfId: Omit<PlantSource, 'conditions'> = {
  from: 'plants',
  values: [],
  place: 'plants.id',
  order: 'plants.id',
};

function plantRows(db: DatabaseSync, { id, after, upTo, ...filter }: PlantRange): Iterable<Row> {
  return selectPlants(db, filter, {
    ...inOrderOfId,
    conditions: [
      ['plants.id = ?', id],
      ['plants.id > ?', after],
      ['plants.id <= ?', upTo],
    ],
  });
}

/** Rows that `storedPlant` takes, each with its `place`. */
export function selectPlants(
  db: DatabaseSync,
  { limit, ...match }: PlantMatch & { readonly limit: number },
  { from, values, place, order, conditions }: PlantSource,
): Iterable<Row> {
  const all = clause([...conditions, ...matchConditions(match)]);
  const orderBy = order === undefined ? '' : `ORDER BY ${order}`;
  const select = db.prepare(`
    SELECT ${place} AS place, plants.id, plants.name, tag, plants.created_at, ${createdBy} AS
      created_by
    FROM ${from} LEFT JOIN tokens ON tokens.id = created_by
    WHERE ${all.where} ${orderBy} LIMIT ?`);
  select.setReadBigInts(true);
  return select.iterate(...values, ...all.values, limit);
}

function matchConditions(match: PlantMatch): readonly Condition[] {
  return [
    ['plants.created_at >= ?', match.sinceMs],
    ['plants.created_at < ?', match.untilMs],
    ...(match.createdBy === undefined ? [] : [byToken(match.createdBy)]),
    ['tag = ?', match.tag],
    [`instr(${foldCase}(plants.name), ${foldCase}(?)) > 0`, match.nameContains],
  ];
}

/** Conditions without a value are left out. */
function clause(given: readonly Condition[]) {
  const used = given.flatMap(([sql, value]) => (value === undefined ? [] : [{ sql, value }]));
  return {
    where: ['TRUE', ...used.map(({ sql }) => sql)].join(' AND '),
    values: used.map(({ value }) => value),
  };
}

/** SQLite looks the token up once, not for each plant. */
function byToken(name: string): Condition {
  if (name === importName) return ['created_by = ?', importId];
  if (name === fixedTokenName) return ['created_by = ?', fixedTokenId];
  return ['created_by IN (SELECT id FROM tokens WHERE name = ?)', unlistedTokenName(name) ?? ''];
}

const foldCase = 'fold_case';

/** SQLite's own `upper` knows ASCII only. */
export function addFoldCase(db: DatabaseSync): void {
  db.function(foldCase, { deterministic: true }, (text) =>
    typeof text === 'string' ? text.toUpperCase() : null,
  );
}

export function storedPlant(row: Row): StoredPlant {
  return {
    id: row['id'] as bigint,
    name: row['name'] as string,
    tag: (row['tag'] as string | null) ?? undefined,
    createdAtMs: Number(row['created_at']),
    createdBy: row['created_by'] as string,
  };
}
