import { int64Max } from '../../contract/int64.ts';
import { limits } from '../../limits.ts';
import { type NewestWindow, parsePosition, positionText } from '../plant-search.ts';
import type { PlantFilter } from '../plants.ts';
import { replicatingEngine } from './durability.ts';
import { type Condition, filteredPage, type PlantOrder } from './plant-rows.ts';
import { isDistributed } from './size.ts';
import type { Query } from './transaction.ts';

/*
 * The newest plants, without an index on their times. Plants are never changed or removed, so new
 * rows go to the end of the table, and a scan of blocks (TID Range Scan) reads the last ones.
 * Connections fill blocks of their own, and a vacuum makes room where a transaction has failed:
 * groups of neighbouring blocks are ordered by time, and all other conditions hold for each plant.
 *
 * `untilMs` starts at a block that has earlier plants, found by binary search. The blocks behind it
 * come last: they can have plants of another store, with earlier times.
 *
 * A table that is no heap on one server is sorted whole.
 */

/** Blocks that are ordered by time. */
const groupBlocks = 64n;

/** Behind a plant in the order of `byBlock`; or where a group of blocks ends, without a plant. */
interface BlockPlace {
  /** Groups below this one are still to be read, and the rest of this group if there is a plant. */
  readonly group: bigint;
  readonly last: { readonly createdAtMs: bigint; readonly row: bigint } | undefined;
  /** The groups from here on are part 2; undefined if there is no part 2. */
  readonly jumpedTo: bigint | undefined;
}

/** Block and offset of a row in one number. */
const row = '((ctid::text::point)[0]::bigint * 65536 + (ctid::text::point)[1]::bigint)';
const rowsInGroup = groupBlocks * 65_536n;

const byBlock: PlantOrder = {
  order: `place / ${rowsInGroup} DESC, created_at DESC, place DESC`,
  place: row,
};
const byTime: PlantOrder = { order: 'created_at DESC, id DESC', place: 'NULL::bigint' };

/** @param filter its `limit` counts the plants of this window */
type ReadWindow = (
  query: Query,
  position: string | undefined,
  plantsMax: number,
  filter: PlantFilter,
) => Promise<NewestWindow | undefined>;

/** How to read the windows of this table. */
export async function newestWindows(query: Query): Promise<ReadWindow> {
  return (await isHeap(query)) ? blockWindow : timeWindow;
}

async function isHeap(query: Query): Promise<boolean> {
  const { rows } = await query('SELECT version()');
  if (replicatingEngine(rows[0]?.[0] ?? '') !== undefined) return false;
  if (await isDistributed(query)) return false;
  const { rows: tables } = await query(
    `SELECT 1 FROM pg_class JOIN pg_am ON pg_am.oid = relam
      WHERE pg_class.oid = 'plants'::regclass AND relkind = 'r' AND amname = 'heap'`,
  );
  return tables.length > 0;
}

/** The number of groups, the last of which may be short. */
async function groupsOf(query: Query): Promise<bigint> {
  const { rows } = await query(
    "SELECT pg_relation_size('plants') / current_setting('block_size')::bigint",
  );
  return ((rows[0]?.[0] as bigint) + groupBlocks - 1n) / groupBlocks;
}

async function startOf(query: Query, { untilMs }: PlantFilter): Promise<BlockPlace> {
  const groups = await groupsOf(query);
  if (untilMs === undefined) return { group: groups, last: undefined, jumpedTo: undefined };
  const jumpedTo = await firstGroupSince(query, groups, untilMs);
  return { group: jumpedTo, last: undefined, jumpedTo };
}

/** If the times ascend, no group after this one has an earlier plant. Looks at first blocks. */
async function firstGroupSince(query: Query, groups: bigint, timeMs: number): Promise<bigint> {
  let low = 0n;
  let high = groups;
  while (low < high) {
    const middle = (low + high) / 2n;
    const { rows } = await query(
      'SELECT min(created_at) < $1 FROM plants WHERE ctid >= $2::tid AND ctid < $3::tid',
      [timeMs, tid(middle), tid(middle, 1n)],
    );
    if (rows[0]?.[0] === true) low = middle + 1n;
    else high = middle;
  }
  return low;
}

/** The first row of a group, or of a later block. A block has a number of 32 bits. */
function tid(group: bigint, blocks = 0n): string {
  const block = group * groupBlocks + blocks;
  return `(${block < blocksMax ? block : blocksMax},0)`;
}

const blocksMax = 0xffff_ffffn;

function placeAt(position: string): BlockPlace | undefined {
  const { kind, numbers = [] } = parsePosition(position) ?? {};
  const [first, second, third, fourth] = numbers;
  const isInside = numbers.every((number) => number >= 0n && number <= int64Max);
  if (first === undefined || !isInside) return undefined;
  if (kind === 'g') return { group: first, last: undefined, jumpedTo: second };
  if (kind !== 'r' || second === undefined) return undefined;
  const last = { row: first, createdAtMs: second };
  return fourth === undefined ? { group: first / rowsInGroup, last, jumpedTo: third } : undefined;
}

function textOf({ group, last, jumpedTo }: BlockPlace): string {
  const jump = jumpedTo === undefined ? [] : [jumpedTo];
  if (last === undefined) return positionText('g', group, ...jump);
  return positionText('r', last.row, last.createdAtMs, ...jump);
}

/** The first group of the part. */
function floorOf(place: BlockPlace): bigint {
  return isPartTwo(place) ? (place.jumpedTo ?? 0n) : 0n;
}

function isPartTwo({ group, last, jumpedTo }: BlockPlace): boolean {
  return jumpedTo !== undefined && group > jumpedTo - (last === undefined ? 0n : 1n);
}

/**
 * The time of the plant before a position, or of the oldest plant in the first block of the group
 * before it. Part 2 is not in order of time.
 */
export async function timeAt(query: Query, position: string): Promise<number | undefined> {
  const { kind, numbers = [] } = parsePosition(position) ?? {};
  if (kind === 't') return Number(numbers[0]);
  const place = placeAt(position);
  if (place === undefined || isPartTwo(place)) return undefined;
  if (place.last !== undefined) return Number(place.last.createdAtMs);
  const { rows } = await query(
    'SELECT min(created_at) FROM plants WHERE ctid >= $1::tid AND ctid < $2::tid',
    [tid(place.group), tid(place.group, 1n)],
  );
  return rows[0]?.[0] === null ? undefined : Number(rows[0]?.[0]);
}

async function blockWindow(
  query: Query,
  position: string | undefined,
  plantsMax: number,
  filter: PlantFilter,
): Promise<NewestWindow | undefined> {
  const place = position === undefined ? await startOf(query, filter) : placeAt(position);
  if (place === undefined) return undefined;
  const { group, last, jumpedTo } = place;
  const floor = floorOf(place);
  const end = last === undefined ? group : group + 1n;
  const groups = BigInt(Math.ceil(plantsMax / limits.store.searchWindowPlants));
  const from = end - groups > floor ? end - groups : floor;
  const behind: Condition[] =
    last === undefined
      ? []
      : [
          [
            (place) =>
              `(${row} / ${rowsInGroup} < ${group} OR (created_at, ${row}) < (${last.createdAtMs}, ${place}::bigint))`,
            last.row,
          ],
        ];
  const rowsMax = Math.min(filter.limit, limits.postgres.pageRows);
  const page = await filteredPage(query, rowsMax, byBlock, filter, [
    [(place) => `ctid >= ${place}::tid`, tid(from)],
    [(place) => `ctid < ${place}::tid`, tid(end)],
    ...behind,
  ]);
  const found = page.plants.map((plant, index) => {
    const at = page.places[index] as bigint;
    const last = { row: at, createdAtMs: BigInt(plant.createdAtMs) };
    return { plant, position: textOf({ group: at / rowsInGroup, last, jumpedTo }) };
  });
  if (!page.isLast) return { found, isWhole: false, next: found.at(-1)?.position };
  return { found, isWhole: true, next: await nextText(query, from, place) };
}

/** The position after the window of a place, which begins at the group `from`. */
async function nextText(
  query: Query,
  from: bigint,
  place: BlockPlace,
): Promise<string | undefined> {
  const { jumpedTo } = place;
  if (from > floorOf(place)) return textOf({ group: from, last: undefined, jumpedTo });
  if (jumpedTo === undefined || isPartTwo(place)) return undefined;
  const group = await groupsOf(query);
  return group > jumpedTo ? textOf({ group, last: undefined, jumpedTo }) : undefined;
}

/** The newest plants of the whole table. */
async function timeWindow(
  query: Query,
  position: string | undefined,
  _plantsMax: number,
  filter: PlantFilter,
): Promise<NewestWindow | undefined> {
  const { kind, numbers } = position === undefined ? {} : (parsePosition(position) ?? {});
  const [createdAtMs, id] = numbers ?? [];
  const isPlace = kind === 't' && id !== undefined && id <= int64Max;
  if (position !== undefined && !isPlace) return undefined;
  const rowsMax = Math.min(filter.limit, limits.postgres.pageRows);
  const page = await filteredPage(query, rowsMax, byTime, filter, [
    [(place) => `(created_at, id) < (${createdAtMs}, ${place}::bigint)`, id],
  ]);
  const found = page.plants.map((plant) => ({
    plant,
    position: positionText('t', plant.createdAtMs, plant.id),
  }));
  return page.isLast
    ? { found, isWhole: true, next: undefined }
    : { found, isWhole: false, next: found.at(-1)?.position };
}
