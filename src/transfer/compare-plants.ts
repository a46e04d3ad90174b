import { limits } from '../limits.ts';
import { addId, type PlantComparison } from '../store/comparison.ts';
import type { PlantReader, StoredPlant } from '../store/plants.ts';

/**
 * Compares each plant of a backup with the same plant of a store, in step. Tokens are compared by
 * name, because their ids differ between stores.
 *
 * @param found counts what is found
 * @throws StoreError
 */
export async function comparePlantsInStep(
  backup: PlantReader,
  store: PlantReader,
  found: PlantComparison,
  onProgress: (plants: number) => void,
): Promise<void> {
  const all = { limit: Number.MAX_SAFE_INTEGER };
  const stored = store.listPlants(all)[Symbol.asyncIterator]();
  const next = async () => (await stored.next()).value as StoredPlant | undefined;
  let there = await next();
  for await (const plant of backup.listPlants(all)) {
    while (there !== undefined && there.id < plant.id) there = await next();
    found.plants += 1;
    if (there?.id !== plant.id) addId(found.missing, plant.id, limits.scrub.idsKept);
    else if (!isSame(plant, there)) addId(found.changed, plant.id, limits.scrub.idsKept);
    if (found.plants % limits.scrub.windowPlants === 0) onProgress(found.plants);
  }
}

function isSame(one: StoredPlant, other: StoredPlant): boolean {
  return (
    one.name === other.name &&
    one.tag === other.tag &&
    one.createdAtMs === other.createdAtMs &&
    one.createdBy === other.createdBy
  );
}
