import type { ProblemName } from '../contract/problems.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Transaction } from '../store/commit-queue.ts';

/** Hears the steps of one create. */
export interface CreateTrace {
  /** The request has arrived in full. */
  noteReceived(): void;
  /** The plant waits for a transaction. */
  noteQueued(): void;
  /**
   * The plant is durable, or its transaction has failed.
   *
   * @param transaction undefined if no transaction has taken the plant
   * @param failure undefined if the transaction has not failed
   */
  noteSettled(transaction: Transaction | undefined, failure: string | undefined): void;
  /** The reply is a 200. */
  noteAnswered(): void;
  noteRefused(problem: ProblemName): void;
  /** The client has left. Its plant may still be stored. */
  noteClientClosed(): void;
}

/** Begins the trace of a create. Undefined if the create is not traced. */
export type TraceCreate = (exchange: Exchange) => CreateTrace | undefined;
