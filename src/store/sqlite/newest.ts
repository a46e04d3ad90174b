import type { DatabaseSync } from 'node:sqlite';
import { int64Max, int64Min } from '../../contract/int64.ts';
import { limits } from '../../limits.ts';
import {
  type NewestWindow,
  type PlacedPlant,
  parsePosition,
  positionText,
} from '../plant-search.ts';
import type { PlantFilter, StoredPlant } from '../plants.ts';
import { charsOf, type PlantSource, selectPlants, storedPlant } from './plant-rows.ts';
import { arrivalsSince, pragma } from './schema.ts';

/*
 * The newest plants, without an index on their times: such an index makes creates a sixth slower.
 *
 * A search goes through up to three parts of the store, and finds each plant in exactly one:
 * 1. the journal of arrivals, back from its end. `untilMs` starts at the last transaction before
 *    that time.
 * 2. the transactions after that time: they can have plants of another store, with earlier times.
 * 3. the plants that the journal lacks, in descending order of id. They are older than the journal,
 *    or a service of an earlier version stored them during an upgrade.
 */

/** Looks at a row of the journal from `index` down; the first plant is the one before `index`. */
interface JournalPlace {
  readonly seq: number;
  readonly index: number;
  /** The last row of part 1, if there is a part 2. */
  readonly jumpedTo: number | undefined;
}

/** Part 3: ids below this one. */
interface IdPlace {
  readonly below: bigint;
}

interface Arrival {
  readonly seq: number;
  readonly arrivedAtMs: number;
  readonly ids: Uint8Array;
}

/** One plant of the journal. */
interface Slot {
  readonly id: bigint;
  readonly arrivedAtMs: number;
  readonly seq: number;
  readonly index: number;
}

const firstPlaceOfIds: IdPlace = { below: int64Max + 1n };
const atEnd = { seq: Number.MAX_SAFE_INTEGER, index: Number.MAX_SAFE_INTEGER };

/** @param filter its `limit` counts the plants of this window */
export function newestWindow(
  db: DatabaseSync,
  position: string | undefined,
  plantsMax: number,
  filter: PlantFilter,
): NewestWindow | undefined {
  const journal = journalOf(db);
  const place = position === undefined ? startOf(db, journal, filter) : placeAt(position);
  if (place === undefined) return undefined;
  return 'below' in place
    ? idWindow(db, journal, place, plantsMax, filter)
    : journalWindow(db, journal, place, plantsMax, filter);
}

/**
 * The time of the transaction before a position in part 1: each plant that was created since came
 * since, and was looked at. Parts 2 and 3 are not in order of time.
 */
export function timeAt(db: DatabaseSync, position: string): number | undefined {
  const place = placeAt(position);
  if (place === undefined || 'below' in place) return undefined;
  const { seq, jumpedTo } = place;
  if (jumpedTo !== undefined && seq > jumpedTo) return undefined;
  const row = db.prepare('SELECT created_at AS atMs FROM arrivals WHERE seq = ?').get(seq);
  return row?.['atMs'] as number | undefined;
}

/** What the journal has. Plants from `whole` on are in the journal, plants before `begin` are not. */
interface Journal {
  readonly beginMs: number;
  readonly wholeMs: number;
}

const everything: Journal = { beginMs: -Infinity, wholeMs: -Infinity };
const nothing: Journal = { beginMs: Infinity, wholeMs: Infinity };

function journalOf(db: DatabaseSync): Journal {
  if (pragma(db, 'user_version') < arrivalsSince) return nothing;
  const first = db
    .prepare(
      'SELECT created_at AS beginMs, length(ids) AS bytes FROM arrivals ORDER BY seq LIMIT 1',
    )
    .get() as { beginMs: number; bytes: number } | undefined;
  if (first === undefined) return nothing;
  if (first.bytes > 0) return everything;
  return { beginMs: first.beginMs, wholeMs: first.beginMs + limits.backup.handoverMs };
}

function startOf(
  db: DatabaseSync,
  journal: Journal,
  { untilMs }: PlantFilter,
): JournalPlace | IdPlace {
  if (journal === nothing) return firstPlaceOfIds;
  if (untilMs === undefined) return { ...atEnd, jumpedTo: undefined };
  const jumpedTo = lastRowBefore(db, untilMs);
  return { seq: jumpedTo, index: atEnd.index, jumpedTo };
}

function placeAt(position: string): JournalPlace | IdPlace | undefined {
  const { kind, numbers } = parsePosition(position) ?? {};
  const [first, second, third] = numbers ?? [];
  if (kind === 'i' && first !== undefined) return isIdEnd(first) ? { below: first } : undefined;
  if (kind !== 'j' || first === undefined || second === undefined) return undefined;
  return {
    seq: Number(first),
    index: Number(second),
    jumpedTo: third === undefined ? undefined : Number(third),
  };
}

function isIdEnd(id: bigint): boolean {
  return id >= int64Min && id <= firstPlaceOfIds.below;
}

function textOf(place: JournalPlace | IdPlace): string {
  if ('below' in place) return positionText('i', place.below);
  const { seq, index, jumpedTo } = place;
  return positionText('j', seq, index, ...(jumpedTo === undefined ? [] : [jumpedTo]));
}

function journalWindow(
  db: DatabaseSync,
  journal: Journal,
  place: JournalPlace,
  plantsMax: number,
  filter: PlantFilter,
): NewestWindow {
  const { slots, next } = slotsFrom(db, place, plantsMax, filter);
  const source: PlantSource = {
    from: 'json_each(?) AS slot CROSS JOIN plants ON plants.id = slot.value',
    values: [`[${slots.map(({ id }) => id)}]`],
    place: 'slot.key',
    // A sort would read all plants of the window, and a page may take only the first of them:
    // with names of 900 KB, a page takes 2 ms instead of 340 ms. `json_each` keeps the order of the
    // array, and CROSS JOIN has it as the outer loop.
    order: undefined,
    conditions: [],
  };
  return pageOf(db, filter, source, next ?? placeAfter(journal, place, filter), (plant, at) => {
    const slot = slots[Number(at)] as Slot;
    return isOfJournal(journal, plant, slot.arrivedAtMs)
      ? { seq: slot.seq, index: slot.index, jumpedTo: place.jumpedTo }
      : undefined;
  });
}

/** Whether parts 1 and 2 have a plant that the journal names, and part 3 has not. */
function isOfJournal(
  { beginMs, wholeMs }: Journal,
  { createdAtMs }: StoredPlant,
  arrivedAtMs: number,
): boolean {
  return createdAtMs >= wholeMs || (createdAtMs >= beginMs && createdAtMs === arrivedAtMs);
}

/** @returns `next` is undefined at the end of the part */
function slotsFrom(
  db: DatabaseSync,
  { seq: from, index: before, jumpedTo }: JournalPlace,
  plantsMax: number,
  { sinceMs = -Infinity, untilMs = Infinity }: PlantFilter,
): { slots: Slot[]; next: JournalPlace | undefined } {
  const isPartTwo = jumpedTo !== undefined && from > jumpedTo;
  const mayHaveOlder = olderThan(db, untilMs);
  const slots: Slot[] = [];
  let looks = 0;
  for (const { seq, arrivedAtMs, ids } of rowsFrom(db, from, isPartTwo ? jumpedTo : 0)) {
    if (arrivedAtMs < sinceMs - limits.store.clocksApartMs) return { slots, next: undefined };
    const plants = int64sOf(ids);
    const end = seq === from ? Math.min(before, plants.length) : plants.length;
    looks += 1;
    if (isPartTwo && !mayHaveOlder(arrivedAtMs, plants)) {
      if (looks >= plantsMax) return { slots, next: { seq, index: 0, jumpedTo } };
      continue;
    }
    for (let index = end - 1; index >= 0; index -= 1) {
      slots.push({ id: plants[index] as bigint, arrivedAtMs, seq, index });
      if (slots.length + looks > plantsMax) return { slots, next: { seq, index, jumpedTo } };
    }
  }
  return { slots, next: undefined };
}

function rowsFrom(db: DatabaseSync, from: number, after: number): Iterable<Arrival> {
  return db
    .prepare(
      `SELECT seq, created_at AS arrivedAtMs, ids FROM arrivals
        WHERE seq <= ? AND seq > ? ORDER BY seq DESC`,
    )
    .iterate(from, after) as Iterable<unknown> as Iterable<Arrival>;
}

/**
 * A transaction has either plants that were created with it, or plants of another store, which a
 * command copies with a writer of its own. So one plant tells.
 */
function olderThan(db: DatabaseSync, untilMs: number) {
  const select = db.prepare('SELECT created_at FROM plants WHERE id = ?');
  return (arrivedAtMs: number, [first]: BigInt64Array): boolean =>
    arrivedAtMs < untilMs ||
    (first !== undefined && select.get(first)?.['created_at'] !== arrivedAtMs);
}

/** A copy, because the bytes of a row may begin at any address. */
function int64sOf(bytes: Uint8Array): BigInt64Array {
  return new BigInt64Array(new Uint8Array(bytes).buffer);
}

/** The part after the part of a place. */
function placeAfter(
  { wholeMs }: Journal,
  { seq, jumpedTo }: JournalPlace,
  { sinceMs = -Infinity }: PlantFilter,
): JournalPlace | IdPlace | undefined {
  if (jumpedTo !== undefined && seq <= jumpedTo) return { ...atEnd, jumpedTo };
  return sinceMs < wholeMs ? firstPlaceOfIds : undefined;
}

function idWindow(
  db: DatabaseSync,
  journal: Journal,
  { below }: IdPlace,
  plantsMax: number,
  filter: PlantFilter,
): NewestWindow {
  const belowIds = below > int64Max ? [] : [below];
  const least = db.prepare(
    `SELECT min(id) AS id FROM (SELECT id FROM plants
      ${belowIds.length === 0 ? '' : 'WHERE id < ?'} ORDER BY id DESC LIMIT ?)`,
  );
  least.setReadBigInts(true);
  const id = least.get(...belowIds, plantsMax)?.['id'] as bigint | null;
  if (id === null) return { found: [], isWhole: true, next: undefined };
  const source: PlantSource = {
    from: 'plants',
    values: [],
    place: 'plants.id',
    order: 'plants.id DESC',
    conditions: [
      ['plants.id >= ?', id],
      ['plants.id < ?', belowIds[0]],
      ['plants.created_at < ?', journal === nothing ? undefined : journal.wholeMs],
    ],
  };
  const isJournaled = journal === nothing ? () => false : journaledIn(db);
  return pageOf(db, filter, source, { below: id }, (plant) =>
    plant.createdAtMs < journal.beginMs || !isJournaled(plant) ? { below: plant.id } : undefined,
  );
}

/** Whether the journal has a plant in a row of the plant's own time. */
function journaledIn(db: DatabaseSync) {
  const rows = db.prepare(
    'SELECT created_at AS arrivedAtMs, ids FROM arrivals WHERE seq > ? ORDER BY seq',
  );
  const cache = { atMs: Number.NaN, ids: new Set<bigint>() };
  return ({ id, createdAtMs }: StoredPlant): boolean => {
    if (cache.atMs !== createdAtMs) {
      cache.atMs = createdAtMs;
      cache.ids.clear();
      const from = lastRowBefore(db, createdAtMs);
      for (const row of rows.iterate(from) as Iterable<unknown> as Iterable<Arrival>) {
        if (row.arrivedAtMs !== createdAtMs) break;
        for (const one of int64sOf(row.ids)) cache.ids.add(one);
      }
    }
    return cache.ids.has(id);
  };
}

/** By binary search: the times ascend. @returns 0 if all are later */
function lastRowBefore(db: DatabaseSync, timeMs: number): number {
  const select = db.prepare(
    'SELECT seq, created_at AS atMs FROM arrivals WHERE seq <= ? ORDER BY seq DESC LIMIT 1',
  );
  const rowAt = (seq: number) => select.get(seq) as { seq: number; atMs: number } | undefined;
  let low = 0;
  let high = rowAt(atEnd.seq)?.seq ?? 0;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const row = rowAt(middle);
    if (row === undefined || row.atMs < timeMs) low = middle;
    else high = row.seq - 1;
  }
  return low;
}

type PlaceOf = (plant: StoredPlant, at: unknown) => JournalPlace | IdPlace | undefined;

/** @param placeOf the place of a plant; undefined if the plant belongs to another part */
function pageOf(
  db: DatabaseSync,
  filter: PlantFilter,
  source: PlantSource,
  next: JournalPlace | IdPlace | undefined,
  placeOf: PlaceOf,
): NewestWindow {
  const found: PlacedPlant[] = [];
  let chars = 0;
  for (const row of selectPlants(db, { ...filter, limit: -1 }, source)) {
    const plant = storedPlant(row);
    const place = placeOf(plant, row['place']);
    if (place === undefined) continue;
    const position = textOf(place);
    found.push({ plant, position });
    chars += charsOf(plant);
    const isFull = found.length >= filter.limit || chars >= limits.store.listPageChars;
    if (isFull) return { found, isWhole: false, next: position };
  }
  return { found, isWhole: true, next: next && textOf(next) };
}
