import { setImmediate } from 'node:timers/promises';
import { limits } from '../../limits.ts';
import type { NewestPlants, PlantFilter, PlantMatch, StoredPlant } from '../../store/plants.ts';
import type { StoreReader } from '../../store/store.ts';
import { CommandError, type Terminal } from '../command.ts';

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
  async function* page(): AsyncGenerator<StoredPlant> {
    for (let left = limit; left > 0; ) {
      // A search of a SQLite store leaves no time for signals.
      await setImmediate();
      const found = await store.newestPlants({
        ...filter,
        before,
        limit: Math.min(left, limits.cli.newestPlantsMax),
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
      if (left > 0) showProgress(progressText(found));
    }
  }
  const next = () => before && `--before ${before}`;
  return { plants: page(), next, reached: next };
}

function progressText({ reachedAtMs }: NewestPlants): string {
  return reachedAtMs === undefined
    ? 'searching among plants that are not in order of time'
    : `searched back to ${new Date(reachedAtMs).toISOString().replace(/\.\d+Z$/, 'Z')}`;
}
