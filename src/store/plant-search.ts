import { limits } from '../limits.ts';
import type {
  CountedPlants,
  FoundPlants,
  NewestPlants,
  NewestSearch,
  PlantFilter,
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

export interface PlantWindows {
  countAfter(after: bigint | undefined, plantsMax: number): Sooner<CountedPlants>;
  pageOf(filter: PlantFilter & { readonly upTo: bigint }): Sooner<PlantPage>;
}

/**
 * Searches windows of ids, one query each: no query is slow, however rare the matches are. An index
 * on names would find them at once, and make every create slower. While windows are fast, they
 * grow.
 */
export async function searchPlants(
  { budgetMs, ...filter }: PlantSearch,
  { countAfter, pageOf }: PlantWindows,
): Promise<FoundPlants> {
  const startedMs = performance.now();
  const plants: StoredPlant[] = [];
  let after = filter.after;
  let windowPlants = limits.store.searchWindowPlants;
  for (let nowMs = startedMs; ; ) {
    const { last: upTo } = await countAfter(after, windowPlants);
    if (upTo === undefined) return { plants, next: undefined };
    // One extra plant shows whether more plants match.
    const page = await pageOf({ ...filter, after, upTo, limit: filter.limit + 1 - plants.length });
    plants.push(...page.plants);
    if (plants.length > filter.limit || !page.isLast) {
      plants.splice(filter.limit);
      return { plants, next: plants.at(-1)?.id };
    }
    after = upTo;
    const windowMs = performance.now() - nowMs;
    nowMs += windowMs;
    if (nowMs - startedMs >= budgetMs) return { plants, next: after };
    if (windowMs < limits.store.searchWindowMs) windowPlants *= 4;
  }
}

/** A place among the newest plants, as text: a kind, and whole numbers. */
export interface Position {
  readonly kind: string;
  readonly numbers: readonly bigint[];
}

/** Whether a text has the form of a position, in any store. */
export function isPosition(text: string): boolean {
  return /^[a-z](?:-?[0-9]{1,20}\.){0,3}-?[0-9]{1,20}$/.test(text);
}

export function parsePosition(text: string): Position | undefined {
  if (!isPosition(text)) return undefined;
  return { kind: text.charAt(0), numbers: text.slice(1).split('.').map(BigInt) };
}

export function positionText(kind: string, ...numbers: readonly (bigint | number)[]): string {
  return `${kind}${numbers.join('.')}`;
}

/** A plant, and the position just before it in time. */
export interface PlacedPlant {
  readonly plant: StoredPlant;
  readonly position: string;
}

export interface NewestWindow {
  readonly found: readonly PlacedPlant[];
  /** Whether `found` has all matches of the window. Otherwise there were too many. */
  readonly isWhole: boolean;
  /** Where the next window begins; undefined at the end of the store. */
  readonly next: string | undefined;
}

/**
 * Searches windows that go back from the newest plant, as `searchPlants` searches windows of ids.
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
  const startedMs = performance.now();
  const found: PlacedPlant[] = [];
  let position = before;
  let windowPlants = limits.store.searchWindowPlants;
  for (let nowMs = startedMs; ; ) {
    // One extra plant shows whether more plants match.
    const limit = filter.limit + 1 - found.length;
    const window = await windowBefore(position, windowPlants, { ...filter, limit });
    if (window === undefined) return undefined;
    found.push(...window.found);
    const plants = found.slice(0, filter.limit).map(({ plant }) => plant);
    if (found.length > filter.limit || !window.isWhole)
      return { plants, next: found[plants.length - 1]?.position };
    const windowMs = performance.now() - nowMs;
    nowMs += windowMs;
    if (window.next === undefined || nowMs - startedMs >= budgetMs)
      return { plants, next: window.next };
    position = window.next;
    if (windowMs < limits.store.searchWindowMs) windowPlants *= 4;
  }
}
