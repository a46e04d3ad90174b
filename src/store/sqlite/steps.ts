import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Result, Statement, Steps } from '../tables/steps.ts';

export function runSteps<T>(db: DatabaseSync, steps: Steps<T>): T {
  let next = steps.next();
  while (!next.done) next = steps.next(resultOf(db, next.value));
  return next.value;
}

function resultOf(db: DatabaseSync, { text, values, isExact }: Statement): Result {
  const statement = prepared(db, text);
  if (statement.columns().length === 0)
    return { rows: [], changes: Number(statement.run(...values).changes) };
  statement.setReadBigInts(isExact === true);
  statement.setReturnArrays(isExact === true);
  const rows = statement.all(...values);
  return { rows, changes: rows.length };
}

/** In SQLite, `$1` is a name, and `?1` a number. */
export function prepared(db: DatabaseSync, text: string): StatementSync {
  return db.prepare(text.replaceAll('$', '?'));
}
