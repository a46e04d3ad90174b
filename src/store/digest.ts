import { createHash } from 'node:crypto';
import { type NewPlant, newPlantLine } from '../contract/plant.ts';
import { limits } from '../limits.ts';
import type { PlantFigures } from './inspection.ts';

/**
 * Takes plants in ascending order of id.
 *
 * @param onProgress gets the number of plants so far, from time to time
 */
export function openDigest(onProgress: (plants: number) => void = () => undefined) {
  const hash = createHash('sha256');
  let plants = 0;
  let largestId: bigint | undefined;
  let lines = '';
  return {
    add(plant: NewPlant): void {
      lines += `${newPlantLine(plant)}\n`;
      largestId = plant.id;
      plants += 1;
      if (lines.length < limits.store.digestChunkChars) return;
      hash.update(lines);
      lines = '';
      onProgress(plants);
    },
    /** Call it once, after the last plant. */
    figures: (): PlantFigures => ({
      plants,
      largestId: largestId?.toString() ?? null,
      digest: hash.update(lines).digest('hex'),
    }),
  };
}

/** @param pages as of `PlantSnapshot` @throws StoreError */
export async function figuresOf(
  pages: AsyncIterable<readonly NewPlant[]>,
  onProgress: (plants: number) => void,
): Promise<PlantFigures> {
  const digest = openDigest(onProgress);
  for await (const page of pages) for (const plant of page) digest.add(plant);
  return digest.figures();
}
