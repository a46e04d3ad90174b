import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../limits.ts';
import { StoreError } from '../store/errors.ts';
import type { CopiedPlant, PlantToCreate, Settlement } from '../store/plants.ts';
import type { Store } from '../store/store.ts';

/**
 * Retries while the store does not take the plants now, as a client does after 503.
 *
 * @param onWait told once
 * @returns a settlement for each plant, in the same order
 * @throws StoreError once the store has taken none of the rest for `waitMs`
 */
export async function createAtLast(
  store: Pick<Store, 'createPlants'>,
  plants: readonly (PlantToCreate | CopiedPlant)[],
  onWait: (why: string) => void,
  waitMs: number = limits.transfer.importWaitMs,
): Promise<readonly Settlement[]> {
  const settled = new Map<PlantToCreate, Settlement>();
  let left = plants;
  let size = plants.length;
  let deadlineMs = performance.now() + waitMs;
  for (let hasWaited = false; left.length > 0; ) {
    let failure: StoreError | undefined;
    try {
      const some = left.slice(0, size);
      const settlements = await store.createPlants(some);
      const rest = some.filter((plant, index) => {
        const settlement = settlements[index] as Settlement;
        if (settlement instanceof StoreError && settlement.failure === 'unavailable')
          failure = new StoreError('unavailable', `the plant ${plant.id}: ${settlement.message}`);
        else settled.set(plant, settlement);
        return !settled.has(plant);
      });
      left = [...rest, ...left.slice(size)];
      // Among fewer plants, a database finds all that it refuses with few tries.
      size = rest.length > 0 ? Math.max(limits.transfer.importPlantsMin, size >> 2) : size * 2;
      if (rest.length < some.length) {
        deadlineMs = performance.now() + waitMs;
        continue;
      }
      size = left.length;
    } catch (error) {
      if (!(error instanceof StoreError) || error.failure !== 'unavailable') throw error;
      failure = error;
    }
    if (failure === undefined || performance.now() > deadlineMs) throw failure;
    if (!hasWaited) onWait(failure.message);
    hasWaited = true;
    await sleep(limits.transfer.importRetryMs);
  }
  return plants.map((plant) => settled.get(plant) as Settlement);
}
