import { useEffect, useRef, useState } from 'preact/hooks';
import { limits } from '../../../limits.ts';
import type { StoredPlant, Time } from '../../contract.ts';
import { type Api, AwayError } from './api.ts';
import { countOn } from './plant-count.ts';
import { type PlantView, queryOf } from './plant-view.ts';
import { afterOutage } from './requests.ts';

interface Found {
  readonly plants: readonly StoredPlant[];
  /** Where the search goes on; null at the start and at the end. */
  readonly next: string | null;
  /** A search for the newest has looked at all plants since this time; null if that is not known. */
  readonly reachedAt: Time | null;
  readonly isEnd: boolean;
  readonly isSearching: boolean;
  readonly error?: Error;
}

export interface PlantSearch extends Found {
  /** The view that was searched. The plants of the view before stay until the first answer. */
  readonly view: PlantView | undefined;
  /** Searches for the rest of the page. */
  goOn(): void;
  stop(): void;
}

const nothing: Found = {
  plants: [],
  next: null,
  reachedAt: null,
  isEnd: false,
  isSearching: false,
};
const pagePlants = limits.ops.searchPlantsDefault;

/** Searches for one page of plants, in as many requests as it takes. */
export function usePlantSearch(api: Api, view: PlantView): PlantSearch {
  const [found, setFound] = useState<Found & { view?: PlantView }>(nothing);
  const underWay = useRef({ ending: new AbortController(), found: nothing });

  async function search({ error: _, ...from }: Found): Promise<void> {
    underWay.current.ending.abort();
    const run = (underWay.current = { ending: new AbortController(), found: from });
    setFound(({ error: __, ...last }) => ({ ...last, isSearching: true }));
    try {
      for await (const now of searchOn(api, view, from, run.ending.signal))
        setFound({ ...(run.found = now), view });
    } catch (error) {
      const { signal } = run.ending;
      if (signal.aborted) return;
      setFound({ ...run.found, view, isSearching: false, error: error as Error });
      if (error instanceof AwayError) afterOutage(() => search(run.found), signal);
    }
  }

  function stop(): void {
    underWay.current.ending.abort();
    setFound({ ...underWay.current.found, view, isSearching: false });
  }

  useEffect(() => {
    void search(nothing);
    return () => underWay.current.ending.abort();
  }, [api, `${queryOf(view)}`]);
  return { ...found, view: found.view, goOn: () => void search(found), stop };
}

/** Yields what was found so far, after each answer. */
async function* searchOn(
  api: Api,
  view: PlantView,
  from: Found,
  signal: AbortSignal,
): AsyncGenerator<Found> {
  let now = from;
  let total: { readonly plants: number | undefined } | undefined;
  do {
    const query = queryOf({ ...view, at: now.next ?? view.at });
    query.set('limit', `${pagePlants - now.plants.length}`);
    const page = await api.plants(query, signal);
    const plants = [...now.plants, ...page.plants];
    const isEnd = page.next === null || plants.length === total?.plants;
    const isSearching = !isEnd && plants.length < pagePlants;
    now = { plants, next: page.next, reachedAt: page.reachedAt, isEnd, isSearching };
    signal.throwIfAborted();
    yield now;
    if (isSearching && view.order === 'newest' && view.at === '')
      total ??= countAll(api, view, signal);
  } while (now.isSearching);
}

/**
 * Where few plants match, a count takes a fraction of the time of a search for the newest, and tells
 * whether all are found. It has the plants that the search can find, and those created since.
 */
function countAll(api: Api, view: PlantView, signal: AbortSignal) {
  const total: { plants: number | undefined } = { plants: undefined };
  const count = async () => {
    for await (const { plants, next } of countOn(api, view, undefined, signal))
      if (next === null) total.plants = plants;
  };
  // Without a count, the search goes on to its end.
  count().catch(() => undefined);
  return total;
}
