import { type Connection, openConnection } from './connection.ts';
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

/** Resolves when all connections are open. */
export async function openLanes(
  order: LoadOrder,
  tally: Tally,
  onFailure: (error: Error) => void,
): Promise<Lanes> {
  const underWay = new Map<Connection, Arrival>();
  const waiting: Arrival[] = [];
  /** Entries of `waiting` that were sent. `shift` would copy what may be a long list. */
  let waited = 0;
  const drained = Promise.withResolvers<void>();
  let isDraining = false;
  const opening = Array.from({ length: order.connections }, (_, index) => {
    return new Promise<Connection>((onReady) =>
      openConnection(order, index, { onReady, onAcknowledged, onFailure }),
    );
  });
  const idle = await Promise.all(opening);

  function send(connection: Connection, arrival: Arrival): void {
    underWay.set(connection, arrival);
    connection.create(tally.nextId());
  }

  function onAcknowledged(connection: Connection): void {
    const arrival = underWay.get(connection);
    underWay.delete(connection);
    tally.acknowledged++;
    if (arrival?.isMeasured) tally.latenciesMs.push(performance.now() - arrival.dueMs);
    const next = waiting[waited];
    if (next) {
      waited++;
      return send(connection, next);
    }
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
      else waiting.push(arrival);
    },
    async drain() {
      isDraining = true;
      resolveIfDrained();
      await drained.promise;
      for (const connection of idle) connection.end();
    },
  };
}
