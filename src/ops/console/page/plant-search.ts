import { useEffect, useRef, useState } from 'preact/hooks';
import { type Api, ApiError, type Plant, type PlantId, type PlantsPage } from './api.ts';

export interface PlantQuery {
  /** A whole id. Then the others do not count. */
  readonly id: string;
  /** A part of the name. */
  readonly name: string;
  /** The whole tag. */
  readonly tag: string;
}

interface Found {
  readonly plants: readonly Plant[];
  /** It has been searched up to here; null at the start and at the end. */
  readonly next: PlantId | null;
  readonly isEnd: boolean;
  readonly isSearching: boolean;
  readonly error: Error | undefined;
}

export interface PlantSearch extends Found {
  /** Looks for as many plants again as are shown at a time. */
  goOn(): void;
  stop(): void;
}

const nothing: Found = {
  plants: [],
  next: null,
  isEnd: false,
  isSearching: false,
  error: undefined,
};
/** Plants that are shown at a time. */
const shownPlants = 50;
const notFound = 404;

/**
 * Searches for plants. An answer of the service may end before anything is found, so it is asked
 * until there are enough to show. Another query ends the search for the last one, whose plants are
 * shown until there is an answer.
 */
export function usePlantSearch(api: Api, query: PlantQuery): PlantSearch {
  const [found, setFound] = useState(nothing);
  const underWay = useRef({ ending: new AbortController(), found: nothing });
  const { id, name, tag } = query;

  async function search(from: Found): Promise<void> {
    underWay.current.ending.abort();
    const run = (underWay.current = { ending: new AbortController(), found: from });
    setFound((last) => ({ ...last, isSearching: true, error: undefined }));
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

/** What is found so far, after each answer. */
async function* searchOn(
  api: Api,
  query: PlantQuery,
  from: Found,
  signal: AbortSignal,
): AsyncGenerator<Found> {
  const wanted = from.plants.length + shownPlants;
  let now = from;
  do {
    const page = await pageOf(
      api,
      query,
      { after: now.next, limit: wanted - now.plants.length },
      signal,
    );
    const plants = [...now.plants, ...page.plants];
    now = {
      plants,
      next: page.next,
      isEnd: page.isEnd,
      isSearching: !page.isEnd && plants.length < wanted,
      error: undefined,
    };
    signal.throwIfAborted();
    yield now;
  } while (now.isSearching);
}

type Part = { after: PlantId | null; limit: number };

async function pageOf(
  api: Api,
  { id, name, tag }: PlantQuery,
  { after, limit }: Part,
  signal: AbortSignal,
): Promise<PlantsPage> {
  if (id !== '') return { plants: await plantWithId(api, id, signal), next: null, isEnd: true };
  return api.plants(
    { ...given({ name, tag }), ...(after !== null && { after }), limit: `${limit}` },
    signal,
  );
}

async function plantWithId(api: Api, id: PlantId, signal: AbortSignal): Promise<Plant[]> {
  try {
    return [await api.plant(id, signal)];
  } catch (error) {
    if (error instanceof ApiError && error.status === notFound) return [];
    throw error;
  }
}

/** Without what is empty. */
export function given(query: object): Record<string, string> {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ''));
}
