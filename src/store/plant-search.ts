import { limits } from '../limits.ts';
import type {
  CountedPlants,
  FoundPlants,
  PlantFilter,
  PlantSearch,
  StoredPlant,
} from './plants.ts';

/**
 * The next plants that a filter lets through, up to `limits.store.listPageChars`, and whether there
 * are no more.
 */
export interface PlantPage {
  readonly plants: readonly StoredPlant[];
  readonly isLast: boolean;
}

type Sooner<T> = T | Promise<T>;

/** How an engine looks at the plants. */
export interface PlantWindows {
  /** Of the next `plantsMax` plants. */
  countAfter(after: bigint | undefined, plantsMax: number): Sooner<CountedPlants>;
  pageOf(filter: PlantFilter & { readonly upTo: bigint }): Sooner<PlantPage>;
}

/**
 * Looks through windows of ids, one query each: no query takes long, however rare the plants are,
 * and none holds up the store. An index on names would find them at once, and cost every create. As
 * long as windows are quick, the next one has more plants in it.
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
    // One more than asked for tells whether there are more.
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
