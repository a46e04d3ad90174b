import { createHash } from 'node:crypto';
import { type NewPlant, newPlantLine } from '../contract/plant.ts';
import { limits } from '../limits.ts';

export interface StoreFigures extends PlantFigures {
  readonly schemaVersion: number;
  /** As in `StoreIdentity`; undefined in a store of 2.0.0 or earlier. */
  readonly identity: string | undefined;
}

/** Two stores with the same plants have equal figures, whatever their engines. */
export interface PlantFigures {
  readonly plants: number;
  /** Text, because a JSON number would be rounded; null if there are no plants. */
  readonly largestId: string | null;
  /** SHA-256 in hex of all plants in ascending order of id, each as a line of an export. */
  readonly digest: string;
}

/** Why a file is no sound store. The text follows the name of the file. */
export interface StoreFault {
  readonly fault: string;
}

/** What the check of a store or a backup has found. */
export type Inspection = StoreFigures | StoreFault;

export interface Standing {
  readonly done: number;
  readonly total: number;
  readonly unit: 'plants' | 'bytes';
}

/** Gets a short text about the current step, and how far the step is if its end is known. */
export type OnProgress = (doing: string, standing?: Standing) => void;

/** Takes plants in ascending order of id. @param onProgress gets their number now and then */
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
