import type { DatabaseSync } from 'node:sqlite';
import { int64Max } from '../../contract/int64.ts';
import { limits } from '../../limits.ts';
import type { Place, Window } from '../plant-search.ts';
import type { PlantFilter } from '../plants.ts';
import { readWindow, rowsOf } from './plant-rows.ts';

/*
 * The newest plants, from the journal of arrivals, back from its end. An index on their times would
 * cost a create more time and half again of the disk.
 */

/** One plant of the journal: the row, the index in the row, and its id. */
type Slot = readonly [seq: bigint, index: number, id: bigint];

const atEnd: Place = [int64Max, int64Max];

/**
 * A window of plants in the journal, back from a place: a row, and an index in the row. The search
 * goes on at lower indexes, and in earlier rows.
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
    from: 'json_each(?) AS slot CROSS JOIN plants ON plants.id = slot.value',
    values: [`[${slots.map(([, , id]) => id)}]`],
    key: 'slot.key',
    order: '',
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
  const text = 'SELECT seq, created_at, ids FROM arrivals WHERE seq <= ? ORDER BY seq DESC';
  type Row = [seq: bigint, atMs: bigint, ids: Uint8Array];
  const slots: Slot[] = [];
  for (const [seq, atMs, ids] of rowsOf<Row>(db, { text, values: [fromSeq as bigint] })) {
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
