/** A number of plants, with the first of their ids. */
export interface IdSample {
  count: number;
  readonly ids: bigint[];
}

export function noIds(): IdSample {
  return { count: 0, ids: [] };
}

/** Counts an id, and keeps the first `idsMax`. */
export function addId(sample: IdSample, id: bigint, idsMax: number): void {
  sample.count += 1;
  if (sample.ids.length < idsMax) sample.ids.push(id);
}
