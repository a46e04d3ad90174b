import { setImmediate } from 'node:timers/promises';
import { limits } from '../../limits.ts';
import type { NewestPlants, PlantFilter, PlantMatch, StoredPlant } from '../../store/plants.ts';
import type { StoreReader } from '../../store/store.ts';
import { CommandError, type Terminal } from '../command.ts';
import { plantsText } from '../terminal/progress.ts';

/** A part of a list. The flags are known as far as `plants` was read. */
export interface Page {
  readonly plants: AsyncIterable<StoredPlant>;
  /** The flag for the next page, if there is one. */
  next(): string | undefined;
  /** The flag with which an interrupted list goes on; undefined at its start. */
  reached(): string | undefined;
}

export function pageById(store: StoreReader, { limit, ...filter }: PlantFilter): Page {
  let count = 0;
  let last: bigint | undefined;
  async function* page(): AsyncGenerator<StoredPlant> {
    // One more tells whether there is a next page.
    for await (const plant of store.listPlants({ ...filter, limit: limit + 1 })) {
      count += 1;
      if (count > limit) return;
      last = plant.id;
      yield plant;
    }
  }
  const reached = () => (last === undefined ? undefined : `--after ${last}`);
  return { plants: page(), next: () => (count > limit ? reached() : undefined), reached };
}

interface NewestFilter extends PlantMatch {
  readonly before: string | undefined;
  readonly limit: number;
}

export function newestPage(
  store: StoreReader,
  { before: first, limit, ...filter }: NewestFilter,
  showProgress: Terminal['showProgress'],
): Page {
  let before = first;
  const { countOn, total } = countOf(store, filter);
  async function* page(): AsyncGenerator<StoredPlant> {
    for (let left = limit; left > 0; ) {
      // A search of a SQLite store leaves no time for signals.
      await setImmediate();
      const asked = Math.min(left, limits.cli.newestPlantsMax);
      const found = await store.newestPlants({
        ...filter,
        before,
        limit: asked,
        budgetMs: limits.cli.searchStepMs,
      });
      showProgress('');
      if (found === undefined)
        throw new CommandError(
          `${store.location} has no position ${before}; take a position that a list of this store names`,
        );
      yield* found.plants;
      left -= found.plants.length;
      before = found.next;
      if (before === undefined) return;
      if (left > 0) showProgress(progressText(found, limit - left));
      if (first !== undefined || found.plants.length === asked) continue;
      await countOn();
      if (limit - left !== total()) continue;
      before = undefined;
      return showProgress('');
    }
  }
  const next = () => before && `--before ${before}`;
  return { plants: page(), next, reached: next };
}

/**
 * Where few plants match, a count takes a fraction of the time of a search for the newest, and tells
 * when all are found. It has the plants that the search can find, and those created since.
 */
function countOf(store: StoreReader, match: PlantMatch) {
  let counted: { plants: number; next: bigint | undefined } | undefined;
  const isDone = () => counted !== undefined && counted.next === undefined;
  return {
    async countOn() {
      if (isDone()) return;
      const step = { after: counted?.next, budgetMs: limits.cli.searchStepMs };
      const { plants, next } = await store.countMatches({ ...match, ...step });
      counted = { plants: plants + (counted?.plants ?? 0), next };
    },
    /** Undefined before the end of the count. */
    total: () => (isDone() ? counted?.plants : undefined),
  };
}

function progressText({ reachedAtMs }: NewestPlants, plants: number): string {
  const place =
    reachedAtMs === undefined
      ? 'searching among plants that are not in order of time'
      : `searched back to ${new Date(reachedAtMs).toISOString().replace(/\.\d+Z$/, 'Z')}`;
  return plants === 0 ? place : `${place}, ${plantsText(plants)} found`;
}
