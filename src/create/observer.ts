import type { Exchange, RequestObserver } from '../http/exchange.ts';
import type { Transaction } from '../store/commit-queue.ts';
import type { Settlement } from '../store/plants.ts';
import type { Tally } from '../tokens/tally.ts';

/** Sees the steps of one create: all that metrics, figures and traces know of the create. */
export interface CreateObserver extends RequestObserver {
  received?(): void;
  queued?(): void;
  /** A refusal or a 200 follows. @param transaction undefined if no transaction had the plant */
  settled(settlement: Settlement, transaction: Transaction | undefined): void;
  /** The client has left. Its plant may still be stored. May be called twice. */
  clientClosed?(): void;
}

/** Begins to observe a create as soon as it is known whose token it has. */
export type ObserveCreate = (exchange: Exchange, tally: Tally) => CreateObserver;
