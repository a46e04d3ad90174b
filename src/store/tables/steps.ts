import { limits } from '../../limits.ts';

/*
 * The statements of the small tables, written once for both engines. A generator yields them one by
 * one, and gets what each has returned. SQLite runs it at once, PostgreSQL waits for each reply. A
 * value is `?` in SQLite, and `$1` in PostgreSQL.
 */

/** A statement, or a part of one. */
export interface Statement {
  /** The texts around the values: one more than there are values. */
  readonly texts: readonly string[];
  readonly values: readonly Value[];
  /** Whether each row is an array, in which a whole number is a bigint. */
  readonly isExact?: boolean;
}

type Value = string | number | bigint | Uint8Array | null;

export interface Result {
  /** By the names of the columns. A whole number is a number. */
  readonly rows: readonly Row[];
  /** Rows that were inserted, updated or deleted. */
  readonly changes: number;
}

export type Row = Readonly<Record<string, unknown>>;
export type Steps<T> = Generator<Statement, T, Result>;

/** Puts a statement together from texts, values and other parts. */
export function sql(
  [first = '', ...others]: readonly string[],
  ...parts: readonly (Value | undefined | Statement)[]
): Statement {
  const texts = [first];
  const values: Value[] = [];
  for (const [index, part] of parts.entries()) {
    if (isPart(part)) {
      texts.push(`${texts.pop()}${part.texts[0]}`, ...part.texts.slice(1));
      values.push(...part.values);
    } else {
      texts.push('');
      values.push(part ?? null);
    }
    texts.push(`${texts.pop()}${others[index]}`);
  }
  return { texts, values };
}

/** A part of a statement without values. */
export function raw(text: string): Statement {
  return { texts: [text], values: [] };
}

/** @param parts at least one */
export function joined(parts: readonly Statement[], separator: string): Statement {
  return sql(['', ...parts.slice(1).map(() => separator), ''], ...parts);
}

function isPart(part: Value | undefined | Statement): part is Statement {
  return typeof part === 'object' && part !== null && 'texts' in part;
}

/** Up to `limits.store.statementRows` at a time. @param statementFor gets `(1, 2), (3, 4)` */
export function* runForAll(
  statementFor: (rows: Statement) => Statement,
  all: readonly Statement[],
): Steps<void> {
  const { statementRows } = limits.store;
  for (let start = 0; start < all.length; start += statementRows) {
    const some = all.slice(start, start + statementRows);
    yield statementFor(sql`(${joined(some, '), (')})`);
  }
}

/** A value whose type the statement does not tell. */
export function bigint(value: number): Statement {
  return sql`CAST(${value} AS bigint)`;
}

type Table = Readonly<Record<string, (...args: never[]) => Steps<unknown>>>;

/** The functions of a table as an engine offers them. */
export type CallsOf<T extends Table> = {
  readonly [N in keyof T]: (...args: Parameters<T[N]>) => Promise<ResultOf<ReturnType<T[N]>>>;
};
type ResultOf<S> = S extends Steps<infer T> ? T : never;

/** @param call runs what a function of the table yields, and may have it begin again */
export function callsOf<T extends Table>(
  table: T,
  call: (begin: () => Steps<unknown>) => Promise<unknown>,
): CallsOf<T> {
  const entries = Object.entries(table).map(([name, stepsOf]) => [
    name,
    (...args: never[]) => call(() => stepsOf(...args)),
  ]);
  return Object.fromEntries(entries) as CallsOf<T>;
}
