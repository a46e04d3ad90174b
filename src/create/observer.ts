import type { Exchange } from '../http/exchange.ts';
import type { Transaction } from '../store/commit-queue.ts';
import type { CreateOutcome } from '../store/plants.ts';
import type { Tally } from '../tokens/tally.ts';

/** Sees the steps of one create: all that metrics, figures and traces know of the create. */
export interface CreateObserver {
  received?(): void;
  queued?(): void;
  /**
   * The plant is durable or refused, or its transaction has failed. A refusal or a 200 follows.
   *
   * @param transaction undefined if no transaction has taken the plant
   * @param failure undefined unless the outcome is `failed`
   */
  settled(
    outcome: CreateOutcome | 'refused' | 'failed',
    transaction: Transaction | undefined,
    failure: string | undefined,
  ): void;
  /** The client has left. Its plant may still be stored. May be called twice. */
  clientClosed?(): void;
}

/**
 * Begins to observe a request as soon as it is known whose token it has. The observer becomes the
 * context of the exchange: the events of the listener tell of refusals.
 *
 * @param isInForce the token is neither revoked nor expired
 */
export type Observe = (exchange: Exchange, sender: Tally, isInForce: boolean) => CreateObserver;
