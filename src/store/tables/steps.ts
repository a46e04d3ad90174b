import { limits } from '../../limits.ts';

/*
 * The statements of the small tables, written once for both engines. A generator yields them one by
 * one, and gets what each has returned. SQLite runs it at once, PostgreSQL waits for each reply.
 */

/** A statement, or a part of one. `$1` stands for the first value. */
export interface Statement {
  readonly text: string;
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

/** Puts a statement together from values and other parts, whose values get new numbers. */
export function sql(
  texts: readonly string[],
  ...parts: readonly (Value | undefined | Statement)[]
): Statement {
  let text = texts[0] as string;
  const values: Value[] = [];
  for (const [index, part] of parts.entries()) {
    const { length } = values;
    if (isPart(part)) {
      text += part.text.replaceAll(/\$(\d+)/g, (_, number) => `$${Number(number) + length}`);
      values.push(...part.values);
    } else {
      text += `$${length + 1}`;
      values.push(part ?? null);
    }
    text += texts[index + 1];
  }
  return { text, values };
}

/** A part of a statement without values. */
export function raw(text: string): Statement {
  return { text, values: [] };
}

export function joined(parts: readonly Statement[], separator: string): Statement {
  return sql(['', ...parts.slice(1).map(() => separator), ''], ...parts);
}

function isPart(part: Value | undefined | Statement): part is Statement {
  return typeof part === 'object' && part !== null && 'text' in part;
}

/**
 * Runs a statement for many rows, up to `limits.store.statementRows` at a time.
 *
 * @param statementFor the statement around `($1, $2), ($3, $4)`
 */
export function* runForAll(
  statementFor: (rows: Statement) => Statement,
  all: readonly (readonly Statement[])[],
): Steps<void> {
  const { statementRows } = limits.store;
  for (let start = 0; start < all.length; start += statementRows) {
    const some = all.slice(start, start + statementRows);
    yield statementFor(
      joined(
        some.map((row) => sql`(${joined(row, ', ')})`),
        ', ',
      ),
    );
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
