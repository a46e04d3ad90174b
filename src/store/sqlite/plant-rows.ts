import type { DatabaseSync } from 'node:sqlite';
import { limits } from '../../limits.ts';
import type { PlantPage, PlantRange } from '../plant-search.ts';
import {
  type CountedPlants,
  type CreateOutcome,
  outcomeBeside,
  type PlantReader,
  type StoredPlant,
} from '../plants.ts';
import { fixedTokenName, importId, importName, namesOfNoToken, ofTokenMark } from '../tokens.ts';

/** The next plants, up to `limits.store.listPageChars`. */
export function plantPage(db: DatabaseSync, filter: PlantRange): PlantPage {
  const plants: StoredPlant[] = [];
  let chars = 0;
  for (const row of plantRows(db, filter)) {
    const plant = storedPlant(row);
    plants.push(plant);
    chars += 1 + plant.name.length + (plant.tag?.length ?? 0);
    if (chars >= limits.store.listPageChars) return { plants, isLast: false };
  }
  return { plants, isLast: true };
}

export function countPlants(db: DatabaseSync): number {
  return Number(db.prepare('SELECT count(*) AS n FROM plants').get()?.['n']);
}

export function countPlantsAfter(
  db: DatabaseSync,
  after: bigint | undefined,
  plantsMax: number,
): CountedPlants {
  const from = after === undefined ? '' : 'WHERE id > ?';
  const count = db.prepare(
    `SELECT count(*) AS plants, max(id) AS last FROM (SELECT id FROM plants ${from} ORDER BY id LIMIT ?)`,
  );
  count.setReadBigInts(true);
  const row = count.get(...(after === undefined ? [] : [after]), plantsMax);
  const { plants, last } = row as { plants: bigint; last: bigint | null };
  return { plants: Number(plants), last: last ?? undefined };
}

/** As `PlantReader.outcomesOf`. */
export function outcomesOf(
  db: DatabaseSync,
  plants: Parameters<PlantReader['outcomesOf']>[0],
): CreateOutcome[] {
  const select = db.prepare('SELECT name, tag FROM plants WHERE id = ?');
  return plants.map((plant) => {
    const row = select.get(plant.id) as { name: string; tag: string | null } | undefined;
    return outcomeBeside(row && { name: row.name, tag: row.tag ?? undefined }, plant);
  });
}

const reserved = namesOfNoToken.map((name) => `'${name}'`).join(', ');
/** `listedTokenName` in SQL. */
const createdBy = `CASE
  WHEN tokens.name IN (${reserved}) THEN tokens.name || '${ofTokenMark}'
  ELSE coalesce(tokens.name, iif(created_by = ${importId}, '${importName}', '${fixedTokenName}')) END`;

type Row = Record<string, unknown>;

function plantRows(db: DatabaseSync, filter: PlantRange): Iterable<Row> {
  const conditions = [
    ['plants.id = ?', filter.id],
    ['plants.id > ?', filter.after],
    ['plants.id <= ?', filter.upTo],
    ['tag = ?', filter.tag],
    ['instr(plants.name, ?) > 0', filter.nameContains],
    [`${createdBy} = ?`, filter.createdBy],
    ['plants.created_at >= ?', filter.sinceMs],
  ] as const;
  const used = conditions.flatMap(([sql, value]) => (value === undefined ? [] : [{ sql, value }]));
  const where = ['TRUE', ...used.map(({ sql }) => sql)].join(' AND ');
  const select = db.prepare(`
    SELECT plants.id, plants.name, tag, plants.created_at, ${createdBy} AS created_by
    FROM plants LEFT JOIN tokens ON tokens.id = created_by
    WHERE ${where} ORDER BY plants.id LIMIT ?`);
  select.setReadBigInts(true);
  return select.iterate(...used.map(({ value }) => value), filter.limit);
}

function storedPlant(row: Row): StoredPlant {
  return {
    id: row['id'] as bigint,
    name: row['name'] as string,
    tag: (row['tag'] as string | null) ?? undefined,
    createdAtMs: Number(row['created_at']),
    createdBy: row['created_by'] as string,
  };
}
