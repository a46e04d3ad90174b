import type { ProblemName } from '../contract/problems.ts';
import type { CreateObserver } from '../create/observer.ts';
import type { Transaction } from '../store/commit-queue.ts';
import type { Settlement } from '../store/plants.ts';
import {
  count,
  type httpThreadLayout,
  type Measures,
  record,
  secondsBounds,
} from '../threads/measures.ts';
import type { Outcome, Tally } from '../tokens/tally.ts';

export type HttpThreadMeasures = Measures<typeof httpThreadLayout>;

/** A create, as metrics and the figures of its token see it. */
export class ObservedCreate implements CreateObserver {
  private readonly tally: Tally;
  private readonly measures: HttpThreadMeasures;
  private readonly beganMs = performance.now();

  constructor(tally: Tally, measures: HttpThreadMeasures) {
    this.tally = tally;
    this.measures = measures;
  }

  get name(): string {
    return this.tally.name;
  }

  settled(settlement: Settlement, _: Transaction | undefined): void {
    const outcome = outcomeOf(settlement);
    count(this.measures[outcome]);
    const seconds = (performance.now() - this.beganMs) / 1_000;
    record(this.measures.createSeconds, secondsBounds, seconds);
    this.tally.settled(outcome);
  }

  refused(problem: ProblemName): void {
    this.tally.refused(problem);
  }
}

function outcomeOf(settlement: Settlement): Outcome {
  if (typeof settlement === 'string') return settlement;
  return settlement.failure === 'refused' ? 'refused' : 'failed';
}
