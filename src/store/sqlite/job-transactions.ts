import type { JobRun } from '../jobs.ts';
import type { TransactionBase } from './transaction-base.ts';

export function jobTransactions({ prepare, transact }: TransactionBase) {
  const succeed = prepare(
    'INSERT OR REPLACE INTO jobs (name, ran_at, succeeded_at, took_ms) VALUES (?1, ?2, ?2, ?3)',
  );
  const fail = prepare(
    `INSERT INTO jobs (name, ran_at, fault) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET ran_at = excluded.ran_at, fault = excluded.fault`,
  );
  return {
    recordJob({ name, atMs, tookMs, fault }: JobRun): void {
      transact(
        () =>
          void (fault === undefined
            ? succeed.run(name, atMs, tookMs)
            : fail.run(name, atMs, fault)),
      );
    },
  };
}
