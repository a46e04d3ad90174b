import type { Row, Steps } from '../tables/steps.ts';
import type { Query } from './transaction.ts';
import { inTransaction } from './transaction.ts';

export async function runSteps<T>(query: Query, steps: Steps<T>): Promise<T> {
  let next = steps.next();
  while (!next.done) {
    const { texts, values, isExact } = next.value;
    const text = texts.reduce((before, after, number) => `${before}$${number}${after}`);
    const { rows, fields, rowCount } = await query(text, values);
    const named = (row: unknown[]) =>
      Object.fromEntries(fields.map(({ name }, index) => [name, plain(row[index])]));
    const found = isExact ? (rows as unknown[] as Row[]) : rows.map(named);
    next = steps.next({ rows: found, changes: rowCount ?? 0 });
  }
  return next.value;
}

function plain(value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value;
}

/** In one transaction. A row lock lets the changes of all nodes run one after the other. */
export function runChange<T>(query: Query, steps: Steps<T>): Promise<T> {
  return inTransaction(query, async () => {
    await query('SELECT id FROM plant_store WHERE id = 1 FOR UPDATE');
    return runSteps(query, steps);
  });
}
