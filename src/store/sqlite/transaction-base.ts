import type { DatabaseSync, StatementSync } from 'node:sqlite';

export interface TransactionOptions {
  /** Time to wait for the transaction of another process. */
  readonly lockMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Throws if the WAL is full (`Checkpoints`). */
  readonly demandRoom: () => void;
}

/** What the transactions of every subject stand on. */
export interface TransactionBase {
  readonly db: DatabaseSync;
  prepare(sql: string): StatementSync;
  transact<T>(change: () => T): T;
}
