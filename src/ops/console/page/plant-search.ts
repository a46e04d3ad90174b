import { useEffect, useRef, useState } from 'preact/hooks';
import { limits } from '../../../limits.ts';
import type { Plant, PlantId, PlantPage } from '../../contract.ts';
import { type Api, ApiError } from './api.ts';

export interface PlantQuery {
  /** A whole id. With an id, name and tag do not count. */
  readonly id: string;
  /** A part of the name. */
  readonly name: string;
  /** The whole tag. */
  readonly tag: string;
}

interface Found {
  readonly plants: readonly Plant[];
  /** The last id that was searched; null at the start and at the end. */
  readonly next: PlantId | null;
  readonly isEnd: boolean;
  readonly isSearching: boolean;
  readonly error?: Error;
}

export interface PlantSearch extends Found {
  /** Searches for one more page of plants. */
  goOn(): void;
  stop(): void;
}

const nothing: Found = { plants: [], next: null, isEnd: false, isSearching: false };
const pagePlants = limits.ops.searchPlantsDefault;
const notFound = 404;

/**
 * Searches for one page of plants, in as many requests as it takes. A new query ends the search for
 * the previous query, whose plants are shown until the first answer.
 */
export function usePlantSearch(api: Api, query: PlantQuery): PlantSearch {
  const [found, setFound] = useState(nothing);
  const underWay = useRef({ ending: new AbortController(), found: nothing });
  const { id, name, tag } = query;

  async function search(from: Found): Promise<void> {
    underWay.current.ending.abort();
    const run = (underWay.current = { ending: new AbortController(), found: from });
    setFound(({ error: _, ...last }) => ({ ...last, isSearching: true }));
    try {
      for await (const now of searchOn(api, query, from, run.ending.signal))
        setFound((run.found = now));
    } catch (error) {
      if (!run.ending.signal.aborted)
        setFound({ ...run.found, isSearching: false, error: error as Error });
    }
  }

  function stop(): void {
    underWay.current.ending.abort();
    setFound({ ...underWay.current.found, isSearching: false });
  }

  useEffect(() => {
    void search(nothing);
    return () => underWay.current.ending.abort();
  }, [api, id, name, tag]);
  return { ...found, goOn: () => void search(found), stop };
}

/** Yields what was found so far, after each answer. */
async function* searchOn(
  api: Api,
  query: PlantQuery,
  from: Found,
  signal: AbortSignal,
): AsyncGenerator<Found> {
  const wanted = from.plants.length + pagePlants;
  let now = from;
  do {
    const limit = wanted - now.plants.length;
    const page = await pageOf(api, query, { after: now.next, limit }, signal);
    const plants = [...now.plants, ...page.plants];
    const isEnd = page.next === null;
    now = { plants, next: page.next, isEnd, isSearching: !isEnd && plants.length < wanted };
    signal.throwIfAborted();
    yield now;
  } while (now.isSearching);
}

async function pageOf(
  api: Api,
  { id, name, tag }: PlantQuery,
  { after, limit }: { after: PlantId | null; limit: number },
  signal: AbortSignal,
): Promise<PlantPage> {
  if (id !== '') return { plants: await plantWithId(api, id, signal), next: null };
  return api.plants({ ...given({ name, tag, after: after ?? '' }), limit: `${limit}` }, signal);
}

async function plantWithId(api: Api, id: PlantId, signal: AbortSignal): Promise<Plant[]> {
  try {
    return [await api.plant(id, signal)];
  } catch (error) {
    if (error instanceof ApiError && error.status === notFound) return [];
    throw error;
  }
}

/** Without empty fields. */
export function given(query: object): Record<string, string> {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ''));
}
