import type { DatabaseSync } from 'node:sqlite';
import { backupTransactions } from './backup-transactions.ts';
import { inTransaction } from './database.ts';
import { jobTransactions } from './job-transactions.ts';
import { plantTransactions } from './plant-transactions.ts';
import { sessionTransactions } from './session-transactions.ts';
import { tokenTransactions } from './token-transactions.ts';
import type { TransactionBase, TransactionOptions } from './transaction-base.ts';

export type Transactions = ReturnType<typeof prepareTransactions>;

/** Each function is one transaction: durable on return, rolled back when it throws. */
export function prepareTransactions(db: DatabaseSync, options: TransactionOptions) {
  const base: TransactionBase = {
    db,
    prepare(sql) {
      const statement = db.prepare(sql);
      // `run` reports the last inserted id, which needs a bigint above 2^53.
      statement.setReadBigInts(true);
      return statement;
    },
    transact: (change) => inTransaction(db, options.lockMs, change),
  };
  return {
    ...plantTransactions(base, options),
    ...tokenTransactions(base),
    ...sessionTransactions(base),
    ...backupTransactions(base),
    ...jobTransactions(base),
  };
}
