import { limits } from '../limits.ts';
import type {
  CountedPlants,
  FoundPlants,
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
