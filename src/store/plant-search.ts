import { setImmediate } from 'node:timers/promises';
import { int64FromDigits } from '../contract/int64.ts';
import { limits } from '../limits.ts';
import type {
  CountedMatches,
  FoundPlants,
  MatchCount,
  PlantFilter,
  PlantMatch,
  PlantSearch,
  StoredPlant,
} from './plants.ts';

/** A place in an order of the plants: an id, or a place in time in the form of the engine. */
export type Place = readonly bigint[];

export interface Window {
  readonly plants: readonly StoredPlant[];
  /** The place of each plant. */
  readonly places: readonly Place[];
  /** Whether `plants` has all matches of the window. Otherwise there were too many. */
  readonly isWhole: boolean;
  /** Where the next window begins; undefined at the end of the store. */
  readonly next: Place | undefined;
}

/**
 * Looks at about `plantsMax` plants. The `limit` of the filter counts those of this window. Only an
 * engine with a `countAll` is asked for a window without an end.
 */
type WindowAt = (
  place: Place | undefined,
  plantsMax: number,
  filter: PlantFilter,
) => Window | Promise<Window>;

/** While windows are fast, they grow. */
function openPace(budgetMs: number) {
  const startedMs = performance.now();
  let windowStartedMs = startedMs;
  let plantsMax = limits.store.searchWindowPlants;
  return {
    plantsMax: () => plantsMax,
    /** Whether the time is over. Called after each window. */
    isOver(): boolean {
      const nowMs = performance.now();
      if (nowMs - windowStartedMs < limits.store.searchWindowMs) plantsMax *= 4;
      windowStartedMs = nowMs;
      return nowMs - startedMs >= budgetMs;
    },
  };
}

interface Found {
  readonly plants: readonly StoredPlant[];
  readonly next: Place | undefined;
}

/**
 * Searches windows, one read each: no query is slow, however rare the matches are. An index on
 * names would find them at once, and make every create slower.
 */
async function searchWindows(
  { limit, budgetMs, ...match }: Omit<PlantSearch, 'from'>,
  start: Place | undefined,
  windowAt: WindowAt,
): Promise<Found> {
  const pace = openPace(budgetMs);
  const plants: StoredPlant[] = [];
  const places: Place[] = [];
  for (let place = start; ; ) {
    // One extra match shows whether more plants match.
    const wanted = { ...match, limit: limit + 1 - plants.length };
    const window = await windowAt(place, pace.plantsMax(), wanted);
    plants.push(...window.plants);
    places.push(...window.places);
    if (plants.length > limit || !window.isWhole) {
      const found = plants.slice(0, limit);
      return { plants: found, next: places[found.length - 1] };
    }
    place = window.next;
    if (place === undefined || pace.isOver()) return { plants, next: place };
  }
}

/** How an engine looks at plants: in ascending order of id, and back from the newest plant. */
interface PlantWindows {
  readonly windowAfter: WindowAt;
  readonly windowBefore: WindowAt;
  countAfter(
    after: bigint | undefined,
    plantsMax: number,
    match: PlantMatch,
  ): CountedMatches | Promise<CountedMatches>;
  /** In one read. Undefined for an engine in which long reads do harm. */
  readonly countAll?: (match: PlantMatch) => Promise<number>;
}

export function searchesIn({ windowAfter, windowBefore, countAfter, countAll }: PlantWindows) {
  async function searchPlants({ isNewestFirst = false, from, ...search }: PlantSearch) {
    const start = from === undefined ? undefined : placeIn(from, isNewestFirst ? 2 : 1);
    if (from !== undefined && start === undefined) return undefined;
    const windowAt = isNewestFirst ? windowBefore : windowAfter;
    const { plants, next } = await searchWindows(search, start, windowAt);
    return { plants, next: next?.join('.') } satisfies FoundPlants;
  }

  /**
   * Each step is a read of its own: one long read would keep SQLite's WAL from being reset. Plants
   * are never changed or removed, so every plant that exists at the start is listed, once.
   */
  async function* listPlants({ limit, after, ...match }: PlantFilter, isNewestFirst = false) {
    const windowAt = isNewestFirst ? windowBefore : windowAfter;
    const { listStepMs: budgetMs, sparsePlants } = limits.store;
    let next: Place | undefined = after === undefined ? undefined : [after];
    let isSparse = false;
    for (let left = limit; left > 0; ) {
      // A signal waits for a turn of the event loop.
      await setImmediate();
      const wanted = { ...match, limit: left };
      const found: Found = isSparse
        ? await searchRest(wanted, next, windowAt)
        : await searchWindows({ ...wanted, budgetMs }, next, windowAt);
      yield* found.plants;
      next = found.next;
      if (next === undefined) return;
      left -= found.plants.length;
      isSparse = !isSparse && countAll !== undefined && found.plants.length < sparsePlants;
    }
  }

  async function countPlants(match: PlantMatch): Promise<number> {
    if (countAll) return countAll(match);
    let plants = 0;
    for (let after: bigint | undefined; ; ) {
      await setImmediate();
      const part = await countMatches({ ...match, after, budgetMs: limits.store.listStepMs });
      plants += part.plants;
      if (part.next === undefined) return plants;
      after = part.next;
    }
  }

  async function countMatches({ after, budgetMs, ...match }: MatchCount): Promise<CountedMatches> {
    const pace = openPace(budgetMs);
    let plants = 0;
    for (let next = after; ; ) {
      const window = await countAfter(next, pace.plantsMax(), match);
      plants += window.plants;
      next = window.next;
      if (next === undefined || pace.isOver()) return { plants, next };
    }
  }

  const allPlants = (sinceMs?: number): AsyncIterable<StoredPlant> =>
    listPlants({ sinceMs, limit: Number.MAX_SAFE_INTEGER });

  return { searchPlants, listPlants, allPlants, countPlants, countMatches };
}

/** Few plants match: one scan, to which an engine may give several cores, finds them soonest. */
async function searchRest(wanted: PlantFilter, place: Place | undefined, windowAt: WindowAt) {
  const { plants, places, isWhole } = await windowAt(place, Number.POSITIVE_INFINITY, wanted);
  return { plants, next: isWhole ? undefined : places.at(-1) };
}

function placeIn(text: string, length: number): Place | undefined {
  const place = text.split('.').flatMap((digits) => int64FromDigits(digits) ?? []);
  return place.length === length && place.join('.') === text ? place : undefined;
}
