import type { DatabaseSync } from 'node:sqlite';
import { limits } from '../../limits.ts';
import type { CountedPlants, FoundPlants, PlantFilter, PlantSearch, StoredPlant } from '../store.ts';

/** The plants of a range of ids that a filter lets through, and whether those were all. */
type PageOf = (filter: PlantFilter & { readonly upTo: bigint }) => { readonly plants: readonly StoredPlant[]; readonly isLast: boolean };

/**
 * Looks through windows of ids, one query each: no query takes long, however rare the plants are, and none holds the log. An index on
 * names would find them at once, and cost every create. As long as windows are quick, the next one has more plants in it.
 */
export function searchPlants(db: DatabaseSync, { budgetMs, ...filter }: PlantSearch, pageOf: PageOf): FoundPlants {
  const startedMs = performance.now();
  const plants: StoredPlant[] = [];
  let after = filter.after;
  let windowPlants = limits.searchWindowPlants;
  for (let nowMs = startedMs; ; ) {
    const { last: upTo } = countAfter(db, after, windowPlants);
    if (upTo === undefined) return { plants, next: undefined };
    // One more than asked for tells whether there are more.
    const page = pageOf({ ...filter, after, upTo, limit: filter.limit + 1 - plants.length });
    plants.push(...page.plants);
    if (plants.length > filter.limit || !page.isLast) {
      plants.splice(filter.limit);
      return { plants, next: plants.at(-1)?.id };
    }
    after = upTo;
    const windowMs = performance.now() - nowMs;
    nowMs += windowMs;
    if (nowMs - startedMs >= budgetMs) return { plants, next: after };
    if (windowMs < limits.searchWindowMs) windowPlants *= 4;
  }
}

/** Of the next `plantsMax` plants. */
export function countAfter(db: DatabaseSync, after: bigint | undefined, plantsMax: number): CountedPlants {
  const from = after === undefined ? '' : 'WHERE id > ?';
  const count = db.prepare(`SELECT count(*) AS plants, max(id) AS last FROM (SELECT id FROM plants ${from} ORDER BY id LIMIT ?)`);
  count.setReadBigInts(true);
  const row = count.get(...(after === undefined ? [] : [after]), plantsMax) as { plants: bigint; last: bigint | null };
  return { plants: Number(row.plants), last: row.last ?? undefined };
}
