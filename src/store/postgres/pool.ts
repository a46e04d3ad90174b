import { type QueryArrayResult, types } from 'pg';
import { limits } from '../../limits.ts';
import { setDeadline } from '../deadline.ts';
import { StoreError } from '../errors.ts';
import { retryConflicts } from './conflicts.ts';
import type { Connection } from './connection.ts';
import type { Connector } from './connector.ts';
import { isServerLost, storeError } from './errors.ts';

/**
 * Runs a statement. Rows are arrays; int8 is bigint.
 *
 * @param name keeps a prepared statement with its plan on the connection: for statements whose plan
 * does not depend on the size of a table
 * @throws the errors of the server and of the connection
 */
export type Query = (
  text: string,
  values?: readonly unknown[],
  name?: string,
) => Promise<QueryArrayResult>;

export interface Pool {
  /**
   * Runs work on a connection of its own, and retries after conflicts. At the deadline the
   * connection is cut; the result is then unknown.
   *
   * @throws StoreError
   */
  run<T>(work: (query: Query) => Promise<T>, withinMs: number): Promise<T>;
  /** Refuses waiting work, and cuts running work. */
  close(): void;
}

/**
 * Connections are opened on demand. When one is lost, all idle connections go with it: they lead to
 * the same server. After a failed attempt to connect there is a pause; then one piece of work at a
 * time tries to connect, and all other work is refused at once with the last reason.
 */
export function openPool(connector: Connector, connectionsMax: number): Pool {
  const idle: Connection[] = [];
  const busy = new Set<Connection>();
  const waiting: (() => void)[] = [];
  let places = connectionsMax;
  let isOpen = true;
  let refusal: { readonly untilMs: number; readonly error: StoreError } | undefined;

  async function run<T>(work: (query: Query) => Promise<T>, withinMs: number): Promise<T> {
    const deadlineMs = performance.now() + withinMs;
    if (places > 0) places -= 1;
    // Work that has a place began earlier, and ends by its own deadline.
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await retryConflicts(() => attempt(work, deadlineMs), deadlineMs);
    } finally {
      const next = waiting.shift();
      if (next) next();
      else places += 1;
    }
  }

  async function attempt<T>(work: (query: Query) => Promise<T>, deadlineMs: number): Promise<T> {
    const connection = await take(deadlineMs - performance.now());
    try {
      const result = await within(connection, deadlineMs - performance.now(), work, () =>
        connector.passOver(connection),
      );
      release(connection);
      return result;
    } catch (error) {
      if (isServerLost(error)) forget(connection);
      else release(connection);
      throw error;
    }
  }

  async function take(withinMs: number): Promise<Connection> {
    if (!isOpen) throw closed();
    if (withinMs <= 0)
      throw new StoreError(
        'unavailable',
        'all connections to the database were in use for too long',
      );
    const connection = takeIdle() ?? (await connect(withinMs));
    busy.add(connection);
    if (isOpen) return connection;
    forget(connection);
    throw closed();
  }

  function takeIdle(): Connection | undefined {
    const connection = idle.pop();
    return connection?.isClosed ? takeIdle() : connection;
  }

  async function connect(withinMs: number): Promise<Connection> {
    if (refusal && performance.now() < refusal.untilMs) throw refusal.error;
    if (refusal) refusal = { ...refusal, untilMs: Number.POSITIVE_INFINITY };
    try {
      const connection = await connector.connect(withinMs);
      refusal = undefined;
      return connection;
    } catch (error) {
      refusal = {
        untilMs: performance.now() + limits.postgres.reconnectMs,
        error: storeError(error),
      };
      throw error;
    }
  }

  function release(connection: Connection): void {
    busy.delete(connection);
    if (isOpen && !connection.isClosed) idle.push(connection);
    else connection.destroy();
  }

  function forget(connection: Connection): void {
    busy.delete(connection);
    connection.destroy();
    for (const other of idle.splice(0)) other.destroy();
  }

  return {
    run: (work, withinMs) =>
      run(work, withinMs).catch((error) => {
        throw storeError(error);
      }),
    close() {
      isOpen = false;
      for (const connection of [...idle.splice(0), ...busy]) connection.destroy();
    },
  };
}

/** Runs work on a new connection. @throws StoreError */
export async function runOnce<T>(
  connector: Connector,
  work: (query: Query) => Promise<T>,
  withinMs: number,
): Promise<T> {
  const pool = openPool(connector, 1);
  try {
    return await pool.run(work, withinMs);
  } finally {
    pool.close();
  }
}

function closed(): StoreError {
  return new StoreError('unavailable', 'the store is closed');
}

/** Runs work on a connection, and cuts the connection at the deadline. @param onLate called then */
export async function within<T>(
  connection: Connection,
  ms: number,
  work: (query: Query) => Promise<T>,
  onLate?: () => void,
): Promise<T> {
  let doubt: string | undefined;
  const cancelDeadline = setDeadline(ms, () => {
    doubt = 'the database has not answered in time, and the outcome is unknown';
    connection.giveUp();
    onLate?.();
  });
  // A commit that is cancelled while it waits for standbys succeeds with a warning. Its text is in
  // the language of the server.
  const onNotice = ({ routine }: { routine: string | undefined }) => {
    if (routine === 'SyncRepWaitForLSN')
      doubt =
        'the database no longer waits for its standbys, and whether the standbys hold the transaction is unknown';
  };
  connection.client.on('notice', onNotice);
  try {
    const result = await work(queryOn(connection));
    if (doubt === undefined) return result;
  } catch (error) {
    if (doubt === undefined) throw error;
  } finally {
    cancelDeadline();
    connection.client.off('notice', onNotice);
  }
  throw new StoreError('unavailable', doubt);
}

const INT8 = 20;
const parsers = {
  getTypeParser: (type: number, format?: 'text' | 'binary') =>
    type === INT8 ? BigInt : types.getTypeParser(type, format),
} as typeof types;

function queryOn({ client }: Connection): Query {
  return (text, values = [], name) =>
    client.query({
      text,
      values: [...values],
      rowMode: 'array',
      types: parsers,
      ...(name === undefined ? {} : { name }),
    });
}

/** Runs work in a transaction. A failure rolls back. */
export async function inTransaction<T>(query: Query, work: () => Promise<T>): Promise<T> {
  await query('BEGIN');
  try {
    const result = await work();
    await query('COMMIT');
    return result;
  } catch (error) {
    // If this fails, the connection is lost, and the transaction with it.
    await query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}
