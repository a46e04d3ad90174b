import type { DatabaseSync } from 'node:sqlite';
import { int64Max } from '../../contract/int64.ts';
import { limits } from '../../limits.ts';
import {
  allOf,
  type Condition,
  idAfter,
  lastOfNext,
  matchConditions,
  type PlantRow,
  plantColumns,
  withCreators,
} from '../plant-rows.ts';
import type { Place, Window } from '../plant-search.ts';
import type { PlantFilter, PlantMatch } from '../plants.ts';
import { raw, type Statement, sql } from '../tables/steps.ts';
import { runSteps } from './steps.ts';

/** Rows are arrays, which come fastest. An integer is a bigint. */
export function eachRow<Row>(db: DatabaseSync, { texts, values }: Statement): Iterable<Row> {
  const select = db.prepare(texts.join('?'), { readBigInts: true, returnArrays: true });
  return select.iterate(...values) as Iterable<unknown> as Iterable<Row>;
}

export function windowAfter(
  db: DatabaseSync,
  place: Place | undefined,
  plantsMax: number,
  filter: PlantFilter,
): Window {
  const [start] = place ?? [];
  const [id, after] = [raw('id'), idAfter(start)];
  const next = runSteps(db, lastOfNext(id, id, [after], plantsMax));
  const [end] = next ?? [];
  const conditions = [after, end === undefined ? undefined : sql`plants.id <= ${end}`];
  const source = { from: raw('plants'), key: id, order: raw('ORDER BY id'), conditions };
  return readWindow(db, filter, source, (id) => [id], next);
}

/** One plant of the journal: the row, the index in the row, and its id. */
type Slot = readonly [seq: bigint, index: number, id: bigint];

const atEnd: Place = [int64Max, int64Max];

/**
 * A window of plants in the journal of arrivals, back from a place: a row, and an index in the row.
 * An index on their times would cost a create more time and half again of the disk.
 */
export function windowBefore(
  db: DatabaseSync,
  place: Place | undefined,
  plantsMax: number,
  filter: PlantFilter,
): Window {
  const { slots, isLast } = slotsBefore(db, place ?? atEnd, plantsMax, filter.sinceMs);
  const placeAt = (at: number): Place => {
    const [seq, index] = slots.at(at) as Slot;
    return [seq, BigInt(index)];
  };
  const next = isLast ? undefined : placeAt(-1);
  // A sort would read all plants of the window, and a page may take only the first of them: with
  // names of 900 KB, a page takes 2 ms instead of 340 ms. `json_each` keeps the order of the array,
  // and CROSS JOIN has it as the outer loop.
  const source = {
    from: sql`json_each(${`[${slots.map(([, , id]) => id)}]`}) AS slot
      CROSS JOIN plants ON plants.id = slot.value`,
    key: raw('slot.key'),
    order: raw(''),
    conditions: [],
  };
  return readWindow(db, filter, source, (key) => placeAt(Number(key)), next);
}

/**
 * Reads up to `plantsMax` plants. The times of the journal never go back. A plant that was copied
 * may be later than its row, as far as the clock of the other store was ahead.
 */
function slotsBefore(
  db: DatabaseSync,
  [fromSeq, fromIndex]: Place,
  plantsMax: number,
  sinceMs = -Infinity,
): { slots: Slot[]; isLast: boolean } {
  const arrivals = sql`SELECT seq, created_at, ids FROM arrivals
    WHERE seq <= ${fromSeq as bigint} ORDER BY seq DESC`;
  type Row = [seq: bigint, atMs: bigint, ids: Uint8Array];
  const slots: Slot[] = [];
  for (const [seq, atMs, ids] of eachRow<Row>(db, arrivals)) {
    if (atMs < sinceMs - limits.store.clocksApartMs) break;
    // A copy, because the bytes of a row may begin at any address.
    const plants = new BigInt64Array(new Uint8Array(ids).buffer);
    const end = seq === fromSeq ? Math.min(Number(fromIndex), plants.length) : plants.length;
    for (let index = end - 1; index >= 0; index -= 1) {
      slots.push([seq, index, plants[index] as bigint]);
      if (slots.length >= plantsMax) return { slots, isLast: false };
    }
  }
  return { slots, isLast: true };
}

interface PlantSource {
  /** What FROM names, with the table of plants. */
  readonly from: Statement;
  /** A column that tells the place of the row. */
  readonly key: Statement;
  /** Empty: rows come in the order of the first table in `from`. */
  readonly order: Statement;
  readonly conditions: readonly Condition[];
}

function readWindow(
  db: DatabaseSync,
  { limit, ...match }: PlantFilter,
  { from, key, order, conditions }: PlantSource,
  placeOf: (key: bigint) => Place,
  next: Place | undefined,
): Window {
  const all = allOf([...conditions, ...conditionsOf(db, match)]);
  const rows: PlantRow[] = [];
  let chars = 0;
  const select = sql`SELECT ${plantColumns}, ${key} FROM ${from} WHERE ${all} ${order} LIMIT ${limit}`;
  for (const row of eachRow<PlantRow>(db, select)) {
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
  const nameHas = (part: string) => sql`instr(fold_case(plants.name), fold_case(${part})) > 0`;
  return runSteps(db, matchConditions(match, nameHas));
}

/** SQLite's own `upper` knows ASCII only. */
export function addFoldCase(db: DatabaseSync): void {
  db.function('fold_case', { deterministic: true }, (text) =>
    typeof text === 'string' ? text.toUpperCase() : null,
  );
}
