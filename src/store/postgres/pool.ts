import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../../limits.ts';
import type { SharedCounter } from '../../threads/shared-counter.ts';
import { setDeadline } from '../deadline.ts';
import { StoreError } from '../errors.ts';
import type { PostgresLocation } from '../location.ts';
import type { Connection } from './connection.ts';
import { type Connector, openConnector } from './connector.ts';
import { isAtLimit, isServerLost, isUndone, storeError } from './errors.ts';
import { type Query, queryOn } from './transaction.ts';

export type Pool = ReturnType<typeof openPool>;

/**
 * Connections are opened on demand. Work that cannot open one waits for one that is in use. When
 * one is lost, all idle connections go with it: they lead to the same server. After a failed
 * attempt to connect there is a pause; then one attempt at a time is made. While no connection is
 * open, all other work is refused at once with the last reason. Connections that were not needed
 * for a time are closed, and old ones are replaced: a load balancer deals out new connections only.
 *
 * @param starving counts the pools, over all threads, that may open no connection and have none:
 * the server or the role has too many. The pools that have several then give one up. Without the
 * counter, such a pool refuses its work.
 */
export function openPool(connector: Connector, connectionsMax: number, starving?: SharedCounter) {
  /** The last one is taken first, so that those in front are the ones that are not needed. */
  const idle: Connection[] = [];
  /** The lowest number of idle connections since `closeUnneeded`. */
  let idleMin = 0;
  const busy = new Set<Connection>();
  /** Work that waits for a connection, the longest waiting first. */
  const waiting: PromiseWithResolvers<Connection>[] = [];
  let opening = 0;
  let isOpen = true;
  let isStarving = false;
  /** Of the last attempt to connect. */
  let refusal: StoreError | undefined;
  let pause: NodeJS.Timeout | undefined;
  const closing = setInterval(closeUnneeded, limits.postgres.connectionIdleMs).unref();

  async function attempt<T>(work: (query: Query) => Promise<T>, deadlineMs: number): Promise<T> {
    const connection = takeIdle() ?? (await nextConnection(deadlineMs));
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

  function nextConnection(deadlineMs: number): Promise<Connection> {
    const waiter = Promise.withResolvers<Connection>();
    const cancelDeadline = setDeadline(deadlineMs - performance.now(), () => {
      waiting.splice(waiting.indexOf(waiter), 1);
      const allInUse = 'all connections to the database were in use for too long';
      waiter.reject(refusal ?? new StoreError('unavailable', allInUse));
    });
    waiting.push(waiter);
    serve();
    return waiter.promise.finally(cancelDeadline);
  }

  /** Called after each change. */
  function serve(): void {
    if (!isOpen) return refuseAfter(0, new StoreError('unavailable', 'the store is closed'));
    while (waiting.length > 0) {
      const connection = takeIdle();
      if (connection === undefined) break;
      waiting.shift()?.resolve(connection);
    }
    while (waiting.length > opening && mayOpen()) void open();
    starve(waiting.length > 0 && busy.size === 0 && isAtLimit(refusal?.cause));
    if (busy.size === 0 && refusal && !isStarving) refuseAfter(opening, refusal);
  }

  function refuseAfter(count: number, error: StoreError): void {
    for (const { reject } of waiting.splice(count)) reject(error);
  }

  function takeIdle(): Connection | undefined {
    const connection = idle.pop();
    idleMin = Math.min(idleMin, idle.length);
    if (connection?.isClosed) return takeIdle();
    if (connection) busy.add(connection);
    return connection;
  }

  /** Asked when no connection is idle. */
  function mayOpen(): boolean {
    if (busy.size + opening >= connectionsMax || pause !== undefined) return false;
    return refusal === undefined || opening === 0;
  }

  async function open(): Promise<void> {
    opening += 1;
    try {
      const connection = await connector.connect();
      refusal = undefined;
      if (isOpen) idle.push(connection);
      else connection.destroy();
    } catch (error) {
      refusal = storeError(error);
      pauseOpening();
    }
    opening -= 1;
    serve();
  }

  function pauseOpening(): void {
    clearTimeout(pause);
    const { reconnectMs, furtherMs } = limits.postgres;
    pause = setTimeout(endPause, busy.size + idle.length > 0 ? furtherMs : reconnectMs).unref();
  }

  function endPause(): void {
    clearTimeout(pause);
    pause = undefined;
    serve();
  }

  function starve(isSo: boolean): void {
    if (starving === undefined || isSo === isStarving) return;
    isStarving = isSo;
    if (isSo) starving.add(1, Number.POSITIVE_INFINITY);
    else starving.subtract(1);
  }

  function release(connection: Connection): void {
    busy.delete(connection);
    const isGiven = starving !== undefined && starving.count() > 0 && busy.size + idle.length > 0;
    if (isGiven) pauseOpening();
    const isOld = performance.now() > connection.oldAtMs;
    if (isOpen && !isGiven && !isOld && !connection.isClosed) idle.push(connection);
    else connection.destroy();
    // The next work does not wait for the new connection.
    if (isOpen && isOld && mayOpen()) void open();
    serve();
  }

  function closeUnneeded(): void {
    for (const connection of idle.splice(0, idleMin)) connection.destroy();
    idleMin = idle.length;
  }

  function forget(connection: Connection): void {
    busy.delete(connection);
    connection.destroy();
    for (const other of idle.splice(0)) other.destroy();
    if (busy.size > 0) return serve();
    refusal = undefined;
    endPause();
  }

  /** Refuses waiting work, and cuts running work. */
  function close(): void {
    isOpen = false;
    clearInterval(closing);
    starve(false);
    for (const connection of [...idle.splice(0), ...busy]) connection.destroy();
    serve();
  }

  return {
    /**
     * Runs work on a connection of its own, and again if it has certainly changed nothing. After
     * the time of a call the connection is cut; the result is then unknown.
     *
     * @throws StoreError
     */
    async run<T>(work: (query: Query) => Promise<T>): Promise<T> {
      const deadlineMs = performance.now() + connector.callMs;
      try {
        return await retryUndone(() => attempt(work, deadlineMs), deadlineMs);
      } catch (error) {
        throw storeError(error);
      }
    },
    close,
    [Symbol.dispose]: close,
  };
}

/** Retries what changed nothing. The pause grows; it is random, so two nodes do not collide again. */
async function retryUndone<T>(attempt: () => Promise<T>, deadlineMs: number): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      const pauseMs = Math.random() * limits.postgres.conflictPauseMs * 2 ** tries;
      if (
        !isUndone(error) ||
        tries === limits.postgres.conflictTries ||
        performance.now() + pauseMs >= deadlineMs
      )
        throw error;
      await delay(pauseMs);
    }
  }
}

/** Runs work that acknowledges no plant on a new connection, for `callMs`. @throws StoreError */
export async function runOnce<T>(
  location: PostgresLocation,
  callMs: number,
  work: (query: Query) => Promise<T>,
  isReader = false,
): Promise<T> {
  const connector = openConnector(location, callMs, { acceptsLostCommits: true, isReader });
  using pool = openPool(connector, 1);
  return await pool.run(work);
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
        'the database no longer waits for its standbys, and whether the standbys hold the ' +
        'transaction is unknown';
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
  throw new Error(doubt);
}
