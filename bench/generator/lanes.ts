import { type Connection, type ConnectionEvents, openConnection } from './connection.ts';
import type { LoadOrder } from './order.ts';
import type { Tally } from './tally.ts';

interface Arrival {
  dueMs: number;
  isMeasured: boolean;
}

/** The connections of an open loop. */
export interface Lanes {
  /** Sends the create, or queues it for the first free connection. */
  take(arrival: Arrival): void;
  /** Resolves after the last reply. */
  drain(): Promise<void>;
}

export async function openLanes(
  order: LoadOrder,
  tally: Tally,
  onFailure: (error: Error) => void,
): Promise<Lanes> {
  const underWay = new Map<Connection, Arrival>();
  const waiting = queueArrivals();
  const drained = Promise.withResolvers<void>();
  let isDraining = false;
  const idle = await openAll(order, { onAcknowledged, onFailure });

  function send(connection: Connection, arrival: Arrival): void {
    underWay.set(connection, arrival);
    connection.create(tally.nextId());
  }

  function onAcknowledged(connection: Connection): void {
    const arrival = underWay.get(connection);
    underWay.delete(connection);
    tally.acknowledged++;
    if (arrival?.isMeasured) tally.latenciesMs.push(performance.now() - arrival.dueMs);
    const next = waiting.take();
    if (next) return send(connection, next);
    idle.push(connection);
    resolveIfDrained();
  }

  function resolveIfDrained(): void {
    if (isDraining && underWay.size === 0) drained.resolve();
  }

  return {
    take(arrival) {
      // The connection that has been idle for longest, so that all get a share.
      const connection = idle.shift();
      if (connection) send(connection, arrival);
      else waiting.add(arrival);
    },
    async drain() {
      isDraining = true;
      resolveIfDrained();
      await drained.promise;
      for (const connection of idle) connection.end();
    },
  };
}

/** Resolves when all connections are open. */
function openAll(
  order: LoadOrder,
  events: Omit<ConnectionEvents, 'onReady'>,
): Promise<Connection[]> {
  const opening = Array.from(
    { length: order.connections },
    (_, index) =>
      new Promise<Connection>((onReady) => openConnection(order, index, { ...events, onReady })),
  );
  return Promise.all(opening);
}

/** First in, first out. `Array.shift` would copy what may be a long list. */
function queueArrivals() {
  const arrivals: Arrival[] = [];
  let taken = 0;
  return {
    add: (arrival: Arrival) => void arrivals.push(arrival),
    take: () => (taken < arrivals.length ? arrivals[taken++] : undefined),
  };
}
