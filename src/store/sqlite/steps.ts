import type { DatabaseSync } from 'node:sqlite';
import type { Result, Statement, Steps } from '../tables/steps.ts';

export function runSteps<T>(db: DatabaseSync, steps: Steps<T>): T {
  let next = steps.next();
  while (!next.done) next = steps.next(resultOf(db, next.value));
  return next.value;
}

function resultOf(db: DatabaseSync, { texts, values, isExact }: Statement): Result {
  const statement = db.prepare(texts.join('?'), { readBigInts: isExact, returnArrays: isExact });
  if (statement.columns().length === 0)
    return { rows: [], changes: Number(statement.run(...values).changes) };
  const rows = statement.all(...values);
  return { rows, changes: rows.length };
}
