import { hash } from 'node:crypto';
import { newPlantLine } from '../../contract/plant.ts';
import { limits } from '../../limits.ts';
import { StoreError } from '../errors.ts';
import type { PlantToCreate } from '../plants.ts';

export type RefusedPlants = ReturnType<typeof rememberRefused>;

/**
 * The plants that the database has refused a moment ago: a client that sends one again and again
 * makes no transaction fail again. A digest and a reason take the place of the plant.
 */
export function rememberRefused(nowMs: () => number = () => performance.now()) {
  const { refusedMax, refusedMs } = limits.postgres;
  /** By id, in the order of their times. */
  const kept = new Map<bigint, { digest: string; error: StoreError; untilMs: number }>();

  function reasonOf(plant: PlantToCreate): StoreError | undefined {
    const found = kept.get(plant.id);
    if (found === undefined || found.digest !== digestOf(plant)) return undefined;
    if (found.untilMs > nowMs()) return found.error;
    kept.delete(plant.id);
    return undefined;
  }

  return {
    note(plant: PlantToCreate, { failure, message }: StoreError): void {
      kept.delete(plant.id);
      // Without its cause, which may quote the plant.
      const error = new StoreError(failure, message);
      kept.set(plant.id, { digest: digestOf(plant), error, untilMs: nowMs() + refusedMs });
      const [oldest] = kept.keys();
      if (kept.size > refusedMax && oldest !== undefined) kept.delete(oldest);
    },
    /** Those of the plants that were refused a moment ago, each with the reason. */
    among<P extends PlantToCreate>(plants: readonly P[]): Map<P, StoreError> {
      const found = new Map<P, StoreError>();
      if (kept.size === 0) return found;
      for (const plant of plants) {
        const error = reasonOf(plant);
        if (error) found.set(plant, error);
      }
      return found;
    },
  };
}

function digestOf(plant: PlantToCreate): string {
  return hash('sha256', newPlantLine(plant), 'base64');
}
