/** The counts of a load while it runs. */
import { type IdKind, idSequences } from '../ids.ts';

export interface Tally {
  state: 'warming up' | 'measuring' | 'finishing';
  acknowledged: number;
  /** Of the measured creates. */
  latenciesMs: number[];
  /** Of the measured arrivals. */
  latenessesMs: number[];
  nextId(): bigint;
}

export function startTally(ids: IdKind, firstId: number): Tally {
  const { idAt } = idSequences[ids];
  let ordinal = firstId;
  return {
    state: 'warming up',
    acknowledged: 0,
    latenciesMs: [],
    latenessesMs: [],
    nextId: () => idAt(ordinal++),
  };
}
