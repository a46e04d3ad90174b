import type { ProblemName } from '../contract/problems.ts';
import type { Exchange, RequestObserver } from '../http/exchange.ts';
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

/** Sees the steps of one create, for the metrics and the figures of its token. A trace sees more. */
export class CreateObserver implements RequestObserver {
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

  received(): void {}
  queued(): void {}
  /** The client has left. Its plant may still be stored. May be called twice. */
  clientClosed(): void {}

  /** A refusal or a 200 follows. @param _ undefined if no transaction had the plant */
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

/** Begins to observe a create as soon as it is known whose token it has. */
export type ObserveCreate = (exchange: Exchange, tally: Tally) => CreateObserver;
