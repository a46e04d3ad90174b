import { setImmediate } from 'node:timers/promises';
import { limits } from '../limits.ts';
import type {
  CountedMatches,
  FoundPlants,
  MatchCount,
  NewestPlants,
  NewestSearch,
  PlantFilter,
  PlantMatch,
  PlantSearch,
  StoredPlant,
} from './plants.ts';

/** Plants that match a filter, up to `limits.store.listPageChars`. */
export interface PlantPage {
  readonly plants: readonly StoredPlant[];
  readonly isLast: boolean;
}

export interface PlantRange extends PlantFilter {
  readonly id?: bigint;
  readonly upTo?: bigint;
}

type Sooner<T> = T | Promise<T>;

/** A part of a store, and the matches in it. */
interface Window<Match, Place> {
  readonly found: readonly Match[];
  /** Whether `found` has all matches of the window. Otherwise there were too many. */
  readonly isWhole: boolean;
  /** Where the next window begins; undefined at the end of the store. */
  readonly next: Place | undefined;
}

/** While windows are fast, they grow. */
function openPace(budgetMs: number) {
  const startedMs = performance.now();
  let windowStartedMs = startedMs;
  let plantsMax = limits.store.searchWindowPlants;
  return {
    plantsMax: () => plantsMax,
    /** Called after each window. @returns whether the time is over */
    isOver(): boolean {
      const nowMs = performance.now();
      if (nowMs - windowStartedMs < limits.store.searchWindowMs) plantsMax *= 4;
      windowStartedMs = nowMs;
      return nowMs - startedMs >= budgetMs;
    },
  };
}

/**
 * Searches windows, one query each: no query is slow, however rare the matches are. An index on
 * names would find them at once, and make every create slower.
 *
 * @param windowAt looks at about `plantsMax` plants, for up to `limit` matches; `Wrong` ends the
 * search
 * @param placeOf where a search goes on after a match
 */
async function searchWindows<Match, Place, Wrong extends undefined>(
  { limit, budgetMs }: Pick<PlantSearch, 'limit' | 'budgetMs'>,
  start: Place | undefined,
  windowAt: (
    place: Place | undefined,
    plantsMax: number,
    limit: number,
  ) => Promise<Window<Match, Place> | Wrong>,
  placeOf: (match: Match) => Place,
): Promise<{ found: readonly Match[]; next: Place | undefined } | Wrong> {
  const pace = openPace(budgetMs);
  const found: Match[] = [];
  for (let place = start; ; ) {
    // One extra match shows whether more plants match.
    const window = await windowAt(place, pace.plantsMax(), limit + 1 - found.length);
    if (window === undefined) return window;
    found.push(...window.found);
    if (found.length > limit || !window.isWhole) {
      found.splice(limit);
      return { found, next: found.map(placeOf).at(-1) };
    }
    place = window.next;
    if (place === undefined || pace.isOver()) return { found, next: place };
  }
}

export interface CountedPlants {
  readonly plants: number;
  readonly lookedAt: number;
  /** The greatest id that the count has looked at; undefined if there was none. */
  readonly last: bigint | undefined;
}

export interface IdWindows {
  /** Looks at up to `plantsMax` plants, and counts those that match. */
  countAfter(
    after: bigint | undefined,
    plantsMax: number,
    match?: PlantMatch,
  ): Sooner<CountedPlants>;
  pageOf(filter: PlantFilter & { readonly upTo: bigint }): Sooner<PlantPage>;
}

/** Searches windows of ids, in ascending order. */
export async function searchPlants(
  { budgetMs, ...filter }: PlantSearch,
  { countAfter, pageOf }: IdWindows,
): Promise<FoundPlants> {
  const { found, next } = await searchWindows<StoredPlant, bigint, never>(
    { limit: filter.limit, budgetMs },
    filter.after,
    async (after, plantsMax, limit) => {
      const { last: upTo } = await countAfter(after, plantsMax);
      if (upTo === undefined) return { found: [], isWhole: true, next: undefined };
      const { plants, isLast } = await pageOf({ ...filter, after, upTo, limit });
      return { found: plants, isWhole: isLast, next: upTo };
    },
    ({ id }) => id,
  );
  return { plants: found, next };
}

/**
 * Each step is a read of its own: one long read would keep SQLite's WAL from being reset. Plants
 * are never changed or removed, so every plant that exists at the start is listed, once.
 */
export async function* listPlants(
  { limit, ...filter }: PlantFilter,
  windows: IdWindows,
): AsyncGenerator<StoredPlant> {
  let { after } = filter;
  for (let left = limit; left > 0; ) {
    // A signal waits for a turn of the event loop.
    await setImmediate();
    const budgetMs = limits.store.listStepMs;
    const { plants, next } = await searchPlants(
      { ...filter, after, limit: left, budgetMs },
      windows,
    );
    yield* plants;
    if (next === undefined) return;
    after = next;
    left -= plants.length;
  }
}

/** Counts in windows of ids. */
export async function countMatches(
  { after, budgetMs, ...match }: MatchCount,
  countAfter: IdWindows['countAfter'],
): Promise<CountedMatches> {
  const pace = openPace(budgetMs);
  let [plants, lookedAt] = [0, 0];
  for (let next = after; ; ) {
    const window = await countAfter(next, pace.plantsMax(), match);
    plants += window.plants;
    lookedAt += window.lookedAt;
    next = window.last;
    if (next === undefined || pace.isOver()) return { plants, lookedAt, next };
  }
}

/** A place among the newest plants: its form is that of the engine. */
export type Position = readonly [bigint, bigint];

/** Whether a text has the form of a position, in any store. */
export function isPosition(text: string): boolean {
  return parsePosition(text) !== undefined;
}

export function parsePosition(text: string): Position | undefined {
  const [first, second] = /^([0-9]{1,19})\.(-?[0-9]{1,19})$/.exec(text)?.slice(1) ?? [];
  if (first === undefined || second === undefined) return undefined;
  return [BigInt(first), BigInt(second)];
}

export function positionText(...[first, second]: Position): string {
  return `${first}.${second}`;
}

/** A plant, and the position just before it in time. */
export interface PlacedPlant {
  readonly plant: StoredPlant;
  readonly position: string;
}

export type NewestWindow = Window<PlacedPlant, string>;

/**
 * Searches windows that go back from the newest plant.
 *
 * @param windowBefore looks at about `plantsMax` plants; undefined for a wrong position
 */
export async function searchNewest(
  { budgetMs, before, ...filter }: NewestSearch,
  windowBefore: (
    position: string | undefined,
    plantsMax: number,
    filter: PlantFilter,
  ) => Sooner<NewestWindow | undefined>,
): Promise<NewestPlants | undefined> {
  const search = await searchWindows<PlacedPlant, string, undefined>(
    { limit: filter.limit, budgetMs },
    before,
    async (position, plantsMax, limit) => windowBefore(position, plantsMax, { ...filter, limit }),
    ({ position }) => position,
  );
  return search && { plants: search.found.map(({ plant }) => plant), next: search.next };
}
