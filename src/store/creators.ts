import { limits } from '../limits.ts';
import { otherTokens } from './tokens.ts';

/**
 * Numbers of plants by `StoredPlant.createdBy`: of at most `limits.store.creatorsCounted` names, and
 * of `otherTokens`, which stands for all further names.
 */
export type CreatorCounts = ReadonlyMap<string, number>;

export type CreatorCount = readonly [name: string, plants: number];

/** Adds the numbers of a part of a count. A name beyond the bound adds to `otherTokens`. */
export function addCreators(total: Map<string, number>, part: Iterable<CreatorCount>): void {
  for (const [name, plants] of part) {
    const hasRoom = total.has(name) || total.size < limits.store.creatorsCounted;
    const counted = hasRoom ? name : otherTokens;
    total.set(counted, (total.get(counted) ?? 0) + plants);
  }
}

/** @param plants of all creators: those that are not among `named` are `otherTokens` */
export function withOthers(named: readonly CreatorCount[], plants: number): CreatorCount[] {
  const others = named.reduce((left, [, ofOne]) => left - ofOne, plants);
  return others === 0 ? [...named] : [...named, [otherTokens, others]];
}
