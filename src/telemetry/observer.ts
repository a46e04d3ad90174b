import { type ProblemName, problemNames, type Refusal } from '../contract/problems.ts';
import type { CreateObserver, Observe } from '../create/observer.ts';
import type { Exchange, ListenerEvents } from '../http/exchange.ts';
import {
  count,
  type httpThreadLayout,
  type Measures,
  observe,
  secondsBounds,
} from '../threads/measures.ts';
import type { Tally } from '../tokens/tally.ts';

export type HttpThreadMeasures = Measures<typeof httpThreadLayout>;

/** A request of a known token, as metrics and the figures of the token see it. */
export class ObservedCreate implements CreateObserver {
  readonly sender: Tally;
  private readonly measures: HttpThreadMeasures;
  private readonly beganMs = performance.now();

  constructor(sender: Tally, measures: HttpThreadMeasures) {
    this.sender = sender;
    this.measures = measures;
  }

  settled(...[outcome]: Parameters<CreateObserver['settled']>): void {
    count(this.measures[outcome]);
    const seconds = (performance.now() - this.beganMs) / 1_000;
    observe(this.measures.createSeconds, secondsBounds, seconds);
    this.sender.noteOutcome(outcome);
  }

  refused(problem: ProblemName): void {
    this.sender.noteRefused(problem);
  }
}

/** Makes the observer of a request that is traced. */
export type ObserveTraced = (
  exchange: Exchange,
  sender: Tally,
  measures: HttpThreadMeasures,
) => ObservedCreate | undefined;

export function observedOf({ context }: Exchange): ObservedCreate | undefined {
  return context instanceof ObservedCreate ? context : undefined;
}

/** @param observeTraced undefined: no traces are exported */
export function observeCreates(
  measures: HttpThreadMeasures,
  observeTraced: ObserveTraced | undefined,
): Observe {
  return (exchange, sender, isInForce) => {
    // Without a valid token, a client cannot fill the collector.
    const traced = isInForce ? observeTraced?.(exchange, sender, measures) : undefined;
    const observer = traced ?? new ObservedCreate(sender, measures);
    exchange.context = observer;
    return observer;
  };
}

/** Counts refusals before the log sees them. */
export function observeRefusals(
  measures: HttpThreadMeasures,
  noteRefusal: (refusal: Refusal, exchange: Exchange) => void,
  logged: ListenerEvents,
): ListenerEvents {
  return {
    refused(refusal, exchange) {
      count(measures.refusals, 1, problemNames.indexOf(refusal.problem));
      noteRefusal(refusal, exchange);
      logged.refused(refusal, exchange);
      observedOf(exchange)?.refused(refusal.problem);
    },
    failed: logged.failed,
  };
}
