import { limits } from '../../limits.ts';

/*
 * The statements of the small tables, written once for both engines. A generator yields them one by
 * one, and gets what each has returned. SQLite runs it at once, PostgreSQL waits for each reply.
 */

/** `$1` stands for the first value. */
export interface Statement {
  readonly text: string;
  readonly values: readonly (string | number | bigint | Uint8Array | null)[];
  /**
   * Whether each row is an array, in which a whole number is a bigint. A question mark then stands
   * for each value.
   */
  readonly isExact?: boolean;
}

export interface Result {
  /** By the names of the columns. A whole number is a number. */
  readonly rows: readonly Row[];
  /** Rows that were inserted, updated or deleted. */
  readonly changes: number;
}

export type Row = Readonly<Record<string, unknown>>;
export type Steps<T> = Generator<Statement, T, Result>;

type Value = Statement['values'][number];

export function* run(text: string, ...values: (Value | undefined)[]): Steps<Result> {
  return yield { text, values: values.map((value) => value ?? null) };
}

/**
 * Runs a statement for many rows, up to `limits.store.statementRows` at a time.
 *
 * @param textFor the statement around `($1, $2), ($3, $4)`
 * @param type of all values, where the statement does not tell it
 */
export function* runForAll(
  textFor: (rows: string) => string,
  all: readonly (readonly (Value | undefined)[])[],
  type?: 'bigint',
): Steps<void> {
  const { statementRows } = limits.store;
  for (let start = 0; start < all.length; start += statementRows) {
    const some = all.slice(start, start + statementRows);
    let number = 0;
    const place = () => {
      number += 1;
      return type ? `CAST($${number} AS ${type})` : `$${number}`;
    };
    const rows = some.map((row) => `(${row.map(place).join(', ')})`);
    yield* run(textFor(rows.join(', ')), ...some.flat());
  }
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
