import type { ProblemName } from '../contract/problems.ts';

export const outcomes = ['created', 'same', 'taken', 'refused', 'failed'] as const;
export type Outcome = (typeof outcomes)[number];

/** What became of the requests of a token, or of a subject, on one thread since its last report. */
export interface RequestCounts extends Record<Outcome, number> {
  readonly id: number;
  readonly name: string;
  /** By the refusal, which may also follow from an outcome: `taken`, `failed`. */
  readonly refusals: Map<ProblemName, number>;
}

/** Counts the requests of one token. Hangs on the token, so that no request looks it up. */
export class Tally {
  readonly id: number;
  readonly name: string;
  private readonly changed: Tally[];
  private counts: RequestCounts | undefined;

  /** @param changed gets this tally with the first count after each `flush` */
  constructor(id: number, name: string, changed: Tally[]) {
    this.id = id;
    this.name = name;
    this.changed = changed;
  }

  settled(outcome: Outcome): void {
    const counts = this.counts ?? this.begin();
    counts[outcome] += 1;
  }

  refused(problem: ProblemName): void {
    const { refusals } = this.counts ?? this.begin();
    refusals.set(problem, (refusals.get(problem) ?? 0) + 1);
  }

  /** The counts since the last flush. */
  flush(): RequestCounts {
    const counts = this.counts ?? this.begin();
    this.counts = undefined;
    return counts;
  }

  private begin(): RequestCounts {
    const { id, name } = this;
    this.changed.push(this);
    this.counts = {
      id,
      name,
      created: 0,
      same: 0,
      taken: 0,
      refused: 0,
      failed: 0,
      refusals: new Map(),
    };
    return this.counts;
  }
}

export type NewTally = (id: number, name: string) => Tally;
