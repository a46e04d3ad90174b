/** A number of plants, with the first of their ids. */
export interface IdSample {
  count: number;
  readonly ids: bigint[];
}

/** What a comparison of a store with a backup has found. */
export interface PlantComparison {
  /** Plants of the backup. */
  plants: number;
  /** Plants that the store holds with another name, tag, time or token. */
  readonly changed: IdSample;
  /** Plants that the store lacks. */
  readonly missing: IdSample;
  /** Plants that the store cannot read. */
  readonly unreadable: IdSample;
  /** The unreadable plants, as ranges of ids of the backup in ascending order: the first ones. */
  readonly unreadableRanges: IdRange[];
}

/** Both ends belong to the range. */
export interface IdRange {
  readonly first: bigint;
  last: bigint;
}

export function noIds(): IdSample {
  return { count: 0, ids: [] };
}

/** Counts an id, and keeps the first `idsMax`. */
export function addId(sample: IdSample, id: bigint, idsMax: number): void {
  sample.count += 1;
  if (sample.ids.length < idsMax) sample.ids.push(id);
}

export function nothingCompared(): PlantComparison {
  return {
    plants: 0,
    changed: noIds(),
    missing: noIds(),
    unreadable: noIds(),
    unreadableRanges: [],
  };
}

export function holdsAll({ changed, missing, unreadable }: PlantComparison): boolean {
  return changed.count + missing.count + unreadable.count === 0;
}
