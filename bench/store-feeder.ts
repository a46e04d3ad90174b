/** Feeds a store without HTTP, through the service's own store. */
import type { PlantToCreate } from '../src/store/plants.ts';
import type { Store } from '../src/store/store.ts';
import { openStore } from '../src/stores.ts';
import { idSequences } from './ids.ts';
import { plantsFrom } from './plant.ts';
import type { LoadedStore } from './target-run.ts';

const lockMs = 5_000;
/** The writer never waits until the next batch is made. */
const batchesInFlight = 2;

/** Opens the store for `use`, and closes it. */
export async function withStore<T>(
  { path }: LoadedStore,
  use: (store: Store) => Promise<T>,
): Promise<T> {
  await using store = await openStore({ engine: 'sqlite', path }, lockMs);
  return await use(store);
}

/** Creates batches of plants while `isDue`, and counts the plants in `loaded`. */
async function feedStore(
  store: Store,
  loaded: LoadedStore,
  plantsInBatch: number,
  isDue: () => boolean,
): Promise<void> {
  const { firstOrdinal } = idSequences[loaded.ids];
  let taken = loaded.plants;
  const lanes = Array.from({ length: batchesInFlight }, async () => {
    while (isDue()) {
      const plants = plantsFrom(loaded.ids, firstOrdinal + taken, plantsInBatch);
      taken += plantsInBatch;
      await createAll(store, plants);
      loaded.plants += plantsInBatch;
    }
  });
  await Promise.all(lanes);
}

async function createAll(store: Store, plants: PlantToCreate[]): Promise<void> {
  const outcomes = await store.createPlants(plants);
  const other = outcomes.find((outcome) => outcome !== 'created');
  if (other) throw new Error(`the outcome of a new plant was '${other}' instead of 'created'`);
}

const fillBatchPlants = 5_000;

/** Fills the store to at least `plants`. */
export async function fillStore(loaded: LoadedStore, plants: number): Promise<void> {
  if (loaded.plants >= plants) return;
  await withStore(loaded, (store) =>
    feedStore(store, loaded, fillBatchPlants, () => loaded.plants < plants),
  );
}
