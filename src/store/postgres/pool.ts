import { setTimeout as delay } from 'node:timers/promises';
import { type QueryArrayResult, types } from 'pg';
import { limits } from '../../limits.ts';
import { StoreError } from '../store.ts';
import type { Connector } from './connecting.ts';
import type { Connection } from './connection.ts';
import { isConflict, isServerLost, storeError } from './errors.ts';

/** Runs a statement. Rows come as arrays, int8 as bigint. @throws the errors of the server and of the connection */
export type Query = (text: string, values?: readonly unknown[]) => Promise<QueryArrayResult>;

export interface Pool {
  /**
   * Does work on a connection that nobody else uses meanwhile, and does it again when it had to give way to others. It has ended by the
   * deadline: what is under way then is cut off, and whether it has been done is not known.
   *
   * @throws StoreError
   */
  run<T>(work: (query: Query) => Promise<T>, withinMs: number): Promise<T>;
  /** Whoever waits is refused, what is under way is cut off. */
  close(): void;
}

/**
 * Connections are made when they are needed. When one is lost, so are all that lie idle: they lead to the same server. Between tries to
 * connect there is a pause, in which work is refused at once, with the reason of the last try.
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
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await givingWay(() => attempt(work, deadlineMs), deadlineMs);
    } finally {
      const next = waiting.shift();
      if (next) next();
      else places += 1;
    }
  }

  async function attempt<T>(work: (query: Query) => Promise<T>, deadlineMs: number): Promise<T> {
    const connection = await take(deadlineMs - performance.now());
    try {
      const result = await within(connection, deadlineMs - performance.now(), work);
      release(connection);
      return result;
    } catch (error) {
      if (connection.isClosed || isServerLost(error)) forget(connection);
      else await restore(connection);
      throw error;
    }
  }

  async function take(withinMs: number): Promise<Connection> {
    for (let connection = idle.pop(); connection !== undefined; connection = idle.pop()) {
      if (connection.isClosed) continue;
      busy.add(connection);
      return connection;
    }
    if (!isOpen) throw new StoreError('unavailable', 'the store is closed');
    if (refusal && performance.now() < refusal.untilMs) throw refusal.error;
    const connection = await connector.connect(withinMs).catch((error) => {
      refusal = { untilMs: performance.now() + limits.databaseRetryMs, error: storeError(error) };
      throw error;
    });
    refusal = undefined;
    busy.add(connection);
    if (isOpen) return connection;
    forget(connection);
    throw new StoreError('unavailable', 'the store is closed');
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

  /** After an error that the server has told, which may have left a transaction open. */
  async function restore(connection: Connection): Promise<void> {
    await within(connection, limits.databaseConnectMs, (query) => query('ROLLBACK')).then(
      () => release(connection),
      () => forget(connection),
    );
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

/** Does work on a connection, which is cut off if that takes longer. */
export async function within<T>(connection: Connection, ms: number, work: (query: Query) => Promise<T>): Promise<T> {
  let isLate = false;
  const cutOff = () => {
    isLate = true;
    connection.destroy();
  };
  const alarm = setTimeout(cutOff, Math.max(1, ms));
  try {
    return await work(queryOn(connection));
  } catch (error) {
    throw isLate ? new StoreError('unavailable', 'the database has not answered in time; whether it has done it is not known') : error;
  } finally {
    clearTimeout(alarm);
  }
}

/** Work that others were in the way of was rolled back, and is tried again after a pause that grows and that no two nodes share. */
async function givingWay<T>(attempt: () => Promise<T>, deadlineMs: number): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      const pauseMs = Math.random() * limits.conflictPauseMs * 2 ** tries;
      if (!isConflict(error) || tries === limits.conflictTries || performance.now() + pauseMs >= deadlineMs) throw error;
      await delay(pauseMs);
    }
  }
}

const INT8 = 20;
const parsers = {
  getTypeParser: (type: number, format?: 'text' | 'binary') => (type === INT8 ? BigInt : types.getTypeParser(type, format)),
} as typeof types;

function queryOn({ client }: Connection): Query {
  return (text, values = []) => client.query({ text, values: [...values], rowMode: 'array', types: parsers });
}

/** Does work as one transaction, which is rolled back when it fails. */
export async function inTransaction<T>(query: Query, work: () => Promise<T>, begin = 'BEGIN'): Promise<T> {
  await query(begin);
  const result = await work();
  await query('COMMIT');
  return result;
}
