import type { DatabaseSync } from 'node:sqlite';
import { limits } from '../../limits.ts';
import {
  allOf,
  type Condition,
  lastOfNext,
  matchConditions,
  type PlantRow,
  type PlantStatement,
  plantColumns,
  withCreators,
} from '../plant-rows.ts';
import type { Place, Window } from '../plant-search.ts';
import type { PlantFilter, PlantMatch } from '../plants.ts';
import { runSteps } from './steps.ts';

/** Rows are arrays, which come fastest. An integer is a bigint. */
export function rowsOf<Row>(db: DatabaseSync, { text, values }: PlantStatement): Iterable<Row> {
  const select = db.prepare(text);
  select.setReadBigInts(true);
  select.setReturnArrays(true);
  return select.iterate(...values) as Iterable<unknown> as Iterable<Row>;
}

/** A window of plants in order of id. */
export function windowAfter(
  db: DatabaseSync,
  place: Place | undefined,
  plantsMax: number,
  filter: PlantFilter,
): Window {
  const from: Condition = ['plants.id > ?', place?.[0]];
  const end = runSteps(db, lastOfNext('id', 'id', [from], plantsMax));
  const range = { conditions: [from, ['plants.id <= ?', end?.[0]]], order: 'ORDER BY id' } as const;
  const source = { from: 'plants', values: [], key: 'id', ...range };
  return readWindow(db, filter, source, (id) => [id], end);
}

interface PlantSource {
  /** What FROM names, with the table of plants. */
  readonly from: string;
  readonly values: readonly string[];
  /** A column that tells the place of the row. */
  readonly key: string;
  /** Empty: rows come in the order of the first table in `from`. */
  readonly order: string;
  readonly conditions: readonly Condition[];
}

/** Reads the plants that match, up to `limits.store.listPageChars`. */
export function readWindow(
  db: DatabaseSync,
  { limit, ...match }: PlantFilter,
  { from, values, key, order, conditions }: PlantSource,
  placeOf: (key: bigint) => Place,
  next: Place | undefined,
): Window {
  const all = allOf([...conditions, ...conditionsOf(db, match)]);
  const rows: PlantRow[] = [];
  let chars = 0;
  for (const row of rowsOf<PlantRow>(db, {
    text: `SELECT ${plantColumns}, ${key} FROM ${from} WHERE ${all.text} ${order} LIMIT ?`,
    values: [...values, ...all.values, limit],
  })) {
    rows.push(row);
    chars += charsOf(row);
    if (chars >= limits.store.listPageChars) break;
  }
  const places = rows.map(([, , , , , place]) => placeOf(place as bigint));
  const plants = runSteps(db, withCreators(rows));
  return { plants, places, isWhole: chars < limits.store.listPageChars, next };
}

export function charsOf([, name, tag]: PlantRow): number {
  return 1 + name.length + (tag?.length ?? 0);
}

export function conditionsOf(db: DatabaseSync, match: PlantMatch): Condition[] {
  const nameContains = `instr(${foldCase}(plants.name), ${foldCase}(?)) > 0`;
  return runSteps(db, matchConditions(match, nameContains));
}

const foldCase = 'fold_case';

/** SQLite's own `upper` knows ASCII only. */
export function addFoldCase(db: DatabaseSync): void {
  db.function(foldCase, { deterministic: true }, (text) =>
    typeof text === 'string' ? text.toUpperCase() : null,
  );
}
