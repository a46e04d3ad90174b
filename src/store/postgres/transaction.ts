import type { QueryArrayResult } from 'pg';
import { type Client, Query as PgQuery, type Connection as Protocol, types } from 'pg';
import { limits } from '../../limits.ts';
import { StoreError } from '../errors.ts';
import type { Connection } from './connection.ts';
import { FEATURE_NOT_SUPPORTED, READ_ONLY_SQL_TRANSACTION, sqlState } from './errors.ts';
import { standbyNames } from './session.ts';

export interface Query {
  /**
   * Runs a statement. Outside of a transaction it gets one of its own, in the same round trip. Rows
   * are arrays; int8 is bigint.
   *
   * @throws the errors of the server and of the connection
   */
  (text: string, values?: readonly unknown[]): Promise<QueryArrayResult>;
  /** Begins a transaction for the statements that follow. */
  begin(kind: TransactionKind): Promise<void>;
  /**
   * Runs statements within a savepoint of the transaction, which constraints may not outlast. A
   * failure undoes these statements alone.
   *
   * @param end `ROLLBACK TO` undoes them anyway
   */
  attempt(
    statements: readonly PgStatement[],
    end?: 'RELEASE' | 'ROLLBACK TO',
  ): Promise<QueryArrayResult[]>;
  /**
   * From now on, reads in each transaction which standbys its commit waits for, and again behind the
   * commit. @returns the readings, which grow
   */
  readStandbys(): readonly string[];
  readonly isCitus: boolean;
}

export interface PgStatement {
  readonly text: string;
  readonly values?: readonly unknown[];
  /** Whether it has no rows that are asked for. */
  readonly isSilent?: boolean;
}

/**
 * What the service needs of the settings of the server goes with each transaction, and ends with
 * it. A pooler lends a session to several clients in turn: what one of them has left there counts
 * for no statement of the service, and the service leaves nothing.
 */
export function queryOn({ client, settings: { searchPath, isCitus }, demands }: Connection): Query {
  // Without its name, temporary tables of another client would come first.
  const path = [searchPath, 'pg_temp'].filter(Boolean).join(', ');

  let standbys: string[] | undefined;

  /** The server takes a reload of its settings in between two statements. */
  async function send(statements: readonly PgStatement[]): Promise<QueryArrayResult[]> {
    if (standbys === undefined) return roundTrip(client, statements);
    const sent = statements.flatMap((one) =>
      one.text === setForTransaction || one.text === 'COMMIT' ? [one, standbysRead] : [one],
    );
    const results = await roundTrip(client, sent);
    for (const [index, { rows }] of results.entries())
      if (sent[index] === standbysRead) standbys.push(rows[0]?.[0]);
    return results.filter((_, index) => sent[index] !== standbysRead);
  }

  async function begun(
    { begin, guard = [], idleMs }: TransactionKind,
    ...statements: readonly PgStatement[]
  ): Promise<QueryArrayResult[]> {
    const values = [path, demands.statementMs, idleMs, demands.acceptsLostCommits];
    const first = [silent(begin), { ...silent(setForTransaction), values }, ...guard];
    try {
      return (await send([...first, ...statements])).slice(first.length);
    } catch (error) {
      // If this fails, the connection is lost, and the transaction with it.
      await roundTrip(client, [silent('ROLLBACK')]).catch(() => undefined);
      throw error;
    }
  }

  async function alone(statement: PgStatement): Promise<QueryArrayResult[]> {
    const statements = [statement, silent('COMMIT')];
    try {
      return await begun(plain, ...statements);
    } catch (error) {
      if (sqlState(error) !== READ_ONLY_SQL_TRANSACTION) throw error;
      return begun(writing, ...statements).catch(() => Promise.reject(error));
    }
  }

  const query = async (text: string, values: readonly unknown[] = []) => {
    const isAlone = client.getTransactionStatus() === 'I';
    const run = isAlone ? alone({ text, values }) : send([{ text, values }]);
    return (await run)[0] as QueryArrayResult;
  };
  return Object.assign(query, {
    isCitus,
    async attempt(statements: readonly PgStatement[], end = 'RELEASE') {
      const last = [checkConstraints, silent(`${end} SAVEPOINT attempt`)];
      const savepoint = silent('SAVEPOINT attempt');
      try {
        return (await roundTrip(client, [savepoint, ...statements, ...last])).slice(1);
      } catch (error) {
        await roundTrip(client, [silent('ROLLBACK TO SAVEPOINT attempt')]);
        throw error;
      }
    },
    readStandbys: () => (standbys ??= []),
    begin: (kind: TransactionKind) => begun(kind).then(() => undefined, refuseStandby),
  });
}

/** What is deferred until the COMMIT would fail there, with all that the transaction has done. */
export const checkConstraints = silent('SET CONSTRAINTS ALL IMMEDIATE');

/** Runs work in a transaction. A failure rolls back. */
export async function inTransaction<T>(
  query: Query,
  work: () => Promise<T>,
  end: 'COMMIT' | 'ROLLBACK' = 'COMMIT',
): Promise<T> {
  await query.begin(writing);
  try {
    const result = await work();
    await query(end);
    return result;
  } catch (error) {
    // If this fails, the connection is lost, and the transaction with it.
    await query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** How a transaction begins. */
export interface TransactionKind {
  readonly begin: string;
  readonly guard?: readonly PgStatement[];
  /** How long the transaction may pause between two statements. */
  readonly idleMs: number;
}

const plain: TransactionKind = {
  begin: 'BEGIN ISOLATION LEVEL READ COMMITTED',
  idleMs: limits.postgres.idleInTransactionMs,
};

/** Writes although another client has left the session read-only, and not if the operator has. */
const writing: TransactionKind = {
  begin: `${plain.begin} READ WRITE`,
  guard: [
    {
      text: `SELECT set_config('transaction_read_only', 'on', true) FROM pg_settings
        WHERE name = 'default_transaction_read_only' AND reset_val = 'on'`,
    },
  ],
  idleMs: plain.idleMs,
};

/** One moment, for reading only. */
export const snapshot: TransactionKind = {
  begin: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
  idleMs: limits.postgres.snapshotIdleMs,
};

/**
 * The role is that of the login, or the one that `ALTER ROLE … SET role` gives: NULL resets. Servers
 * of before November 2024 forget the latter with the session's authorization, so it comes after. A
 * commit waits for the disk, and for the standbys if there are some; a warning says when it does
 * not. An error ends no session. Rows that a policy hides are an error. NULL in an array is no text.
 * A server that loses commits in a crash takes no writes.
 */
const setForTransaction = `SELECT WHERE concat(
  set_config('session_authorization', NULL, true),
  set_config('role', NULL, true),
  set_config('search_path', $1, true),
  set_config('statement_timeout', $2, true),
  set_config('idle_in_transaction_session_timeout', $3, true),
  set_config('lock_timeout', '0', true),
  CASE WHEN current_setting('transaction_timeout', true) <> '0'
    THEN set_config('transaction_timeout', '0', true) END,
  set_config('synchronous_commit',
    CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on'
      END,
    true),
  set_config('client_min_messages', 'warning', true),
  set_config('exit_on_error', 'off', true),
  set_config('client_encoding', 'UTF8', true),
  set_config('row_security', 'off', true),
  set_config('array_nulls', 'on', true),
  CASE WHEN current_setting('fsync') = 'off' AND NOT $4::boolean
    THEN set_config('transaction_read_only', 'on', true) END) IS NULL`;

const standbysRead: PgStatement = { text: `SELECT ${standbyNames}` };

/** A standby begins no transaction that writes. Its code would blame the statement. */
function refuseStandby(error: unknown): never {
  if (sqlState(error) !== FEATURE_NOT_SUPPORTED) throw error;
  throw new StoreError('unavailable', 'the database takes no writes', { cause: error });
}

function silent(text: string): PgStatement {
  return { text, isSilent: true };
}

/** Sends all statements at once. None runs after one that failed, and the transaction stays. */
function roundTrip(
  client: Client,
  statements: readonly PgStatement[],
): Promise<QueryArrayResult[]> {
  return new Promise((resolve, reject) => {
    const query = new PgQuery(
      { text: '', rowMode: 'array', types: parsers } as { text: string },
      (error, results: unknown) =>
        error ? reject(error) : resolve([results as QueryArrayResult].flat()),
    );
    query.submit = (protocol) => writeStatements(protocol, statements);
    client.query(query);
  });
}

/** See protocol-flow.html#PROTOCOL-FLOW-PIPELINING. No statement has a name: a name would stay. */
function writeStatements(protocol: Protocol, statements: readonly PgStatement[]): void {
  const { stream } = protocol;
  stream.cork();
  for (const { text, values = [], isSilent } of statements) {
    protocol.parse({ name: '', text, types: [] }, true);
    protocol.bind({ values: values.map(parameter) }, true);
    if (!isSilent) protocol.describe({ type: 'P' }, true);
    protocol.execute({}, true);
  }
  protocol.sync();
  stream.uncork();
}

/** Text that no setting of the server reads in another way, once NULL in an array is NULL. */
function parameter(value: unknown): string | Buffer | null {
  if (value === undefined || value === null) return null;
  if (value instanceof Uint8Array) return Buffer.from(value);
  return Array.isArray(value) ? `{${value.map(element)}}` : String(value);
}

/** An element of an array (arrays.html#ARRAYS-IO). `pg` takes 0.37 µs a plant, this 0.13. */
function element(value: unknown): string {
  if (value === undefined || value === null) return 'NULL';
  if (typeof value === 'number' || typeof value === 'bigint') return `${value}`;
  const text =
    value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : String(value);
  return /["\\]/.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : `"${text}"`;
}

const INT8 = 20;
const parsers = {
  getTypeParser: (type: number, format?: 'text' | 'binary') =>
    type === INT8 ? BigInt : types.getTypeParser(type, format),
} as typeof types;
