import { limits } from '../../limits.ts';
import {
  allOf,
  type Condition,
  lastOfNext,
  matchConditions,
  type PlantRow,
  plantColumns,
  rowsOf,
  timeConditions,
  withCreators,
} from '../plant-rows.ts';
import type { Place, Window } from '../plant-search.ts';
import type { PlantFilter, PlantMatch, StoredPlant } from '../plants.ts';
import { joined, raw, type Statement, sql } from '../tables/steps.ts';
import { runSteps } from './steps.ts';
import type { Query } from './transaction.ts';

/** An order that has an index. The columns are those of a place. */
interface Order {
  readonly columns: Statement;
  readonly by: Statement;
  /** The same order, for which the server does not take the index. */
  readonly byScan: Statement;
  readonly isBehind: '>' | '<';
  readonly isUpTo: '<=' | '>=';
  /** Conditions that the index serves. */
  readonly bounds: (match: PlantMatch) => readonly Condition[];
  readonly placeOf: (plant: StoredPlant) => Place;
}

export const byId: Order = {
  columns: raw('id'),
  by: raw('id'),
  byScan: raw('id + 0'),
  isBehind: '>',
  isUpTo: '<=',
  bounds: () => [],
  placeOf: ({ id }) => [id],
};

export const newestFirst: Order = {
  columns: raw('created_at, id'),
  by: raw('created_at DESC, id DESC'),
  byScan: raw('created_at + 0 DESC, id DESC'),
  isBehind: '<',
  isUpTo: '>=',
  bounds: timeConditions,
  placeOf: ({ createdAtMs, id }) => [BigInt(createdAtMs), id],
};

export async function plantWindow(
  query: Query,
  order: Order,
  place: Place | undefined,
  plantsMax: number,
  filter: PlantFilter,
): Promise<Window> {
  const { columns } = order;
  const isRest = plantsMax === Number.POSITIVE_INFINITY;
  const { listPageChars, snapshotPageChars } = limits.store;
  const [by, textMax] = isRest ? [order.byScan, snapshotPageChars] : [order.by, listPageChars];
  const compared = (operator: string, to: Place) => {
    const values = to.map((value) => sql`${value}::bigint`);
    return sql`(${columns}) ${raw(operator)} (${joined(values, ', ')})`;
  };
  const from = place === undefined ? [] : [compared(order.isBehind, place)];
  const bounds = [...from, ...order.bounds(filter)];
  const last = lastOfNext(columns, order.by, bounds, plantsMax);
  const next = isRest ? undefined : await runSteps(query, last);
  const to = next === undefined ? [] : [compared(order.isUpTo, next)];
  const conditions = [...from, ...to, ...(await conditionsOf(query, filter))];
  const rowsMax = Math.min(filter.limit, limits.postgres.pageRows);
  const page = await rowPage(query, by, conditions, rowsMax, textMax);
  const plants = await runSteps(query, withCreators(page.rows));
  return { plants, places: plants.map(order.placeOf), isWhole: page.isLast, next };
}

/**
 * The next rows: at most `rowsMax`, and about `textMax` bytes of text. The server knows the length
 * of a large text without reading it.
 */
export async function rowPage(
  query: Query,
  order: Statement,
  conditions: readonly Condition[],
  rowsMax: number,
  textMax: number,
): Promise<{ rows: PlantRow[]; isLast: boolean }> {
  const statement = sql`SELECT ${plantColumns}, found FROM (
      SELECT *, count(*) OVER () AS found, sum(size) OVER (ORDER BY ${order}) - size AS before FROM
        (
        SELECT *, 1 + octet_length(name) + coalesce(octet_length(tag), 0) AS size FROM plants
        WHERE ${allOf(conditions)} ORDER BY ${order} LIMIT ${rowsMax}) AS next) AS plants
    WHERE before < ${textMax} ORDER BY ${order}`;
  const rows = await runSteps(query, rowsOf<PlantRow>(statement));
  const found = Number(rows[0]?.[5] ?? 0);
  return { rows, isLast: rows.length === found && found < rowsMax };
}

export async function conditionsOf(query: Query, match: PlantMatch): Promise<Condition[]> {
  const hasIcu = match.nameContains !== undefined && (await knowsAllLetters(query));
  return runSteps(query, matchConditions(match, hasIcu ? nameHasByIcu : nameHas));
}

/** The locale of the database decides: C knows ASCII only. */
const nameHas = (part: string) => sql`strpos(upper(name), upper(${part}::text)) > 0`;

/** ICU knows all alphabets, in twice the time for ASCII. Citus drops a COLLATE within another. */
const icu = raw('COLLATE "und-x-icu"');
const nameHasByIcu = (part: string) => sql`strpos(CASE WHEN octet_length(name) = char_length(name)
  THEN upper(name COLLATE "C") ${icu} ELSE upper(name ${icu}) END, upper(${part}::text ${icu})) > 0`;

async function knowsAllLetters(query: Query): Promise<boolean> {
  const { rows } = await query("SELECT 1 FROM pg_collation WHERE collname = 'und-x-icu'");
  return rows.length > 0;
}
