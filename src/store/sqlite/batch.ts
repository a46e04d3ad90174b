import type { CopiedPlant, CreateOutcome, PlantToCreate } from '../plants.ts';

/**
 * A batch on its way to the writer thread. Columns and codes cost both threads a quarter of what
 * objects and words cost (0.11 µs a plant instead of 0.39).
 */
export interface Columns {
  readonly ids: BigInt64Array;
  readonly names: readonly string[];
  readonly tags: readonly (string | undefined)[];
  readonly createdBys: Int32Array;
  /** Only for copied plants: milliseconds since the epoch. */
  readonly createdAts?: Float64Array;
}

const outcomes: readonly CreateOutcome[] = ['created', 'same', 'taken'];

export function columnsOf(plants: readonly PlantToCreate[]): Columns {
  const ids = new BigInt64Array(plants.length);
  const names: string[] = [];
  const tags: (string | undefined)[] = [];
  const createdBys = new Int32Array(plants.length);
  plants.forEach(({ id, name, tag, createdBy }, index) => {
    ids[index] = id;
    names.push(name);
    tags.push(tag);
    createdBys[index] = createdBy;
  });
  return { ids, names, tags, createdBys };
}

export function columnsOfCopied(plants: readonly CopiedPlant[]): Columns {
  return {
    ...columnsOf(plants),
    createdAts: Float64Array.from(plants, ({ createdAtMs }) => createdAtMs),
  };
}

export function outcomesOf(codes: Uint8Array): CreateOutcome[] {
  return Array.from(codes, (code) => outcomes[code] as CreateOutcome);
}

export function outcomeCode(outcome: CreateOutcome): number {
  return outcomes.indexOf(outcome);
}
