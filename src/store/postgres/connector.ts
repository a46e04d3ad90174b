import type { PostgresHost, PostgresLocation } from '../location.ts';
import { type Connection, openConnection } from './connection.ts';
import { connectionFailure, type HostFailure } from './connection-failure.ts';

export interface Connector {
  /**
   * Opens a session on a host that takes writes. The host that was found last comes first, unless
   * it was passed over; then the others in turn.
   *
   * @throws StoreError (`unavailable`). The cause is a `StoreOpenError` if a retry cannot help,
   * such as after a wrong password.
   */
  connect(withinMs: number): Promise<Connection>;
  /** Tries other hosts first: after a failover, an old primary takes writes and ends none. */
  passOver(connection: Connection): void;
}

/** @param statementMs time for each statement */
export function openConnector(
  location: PostgresLocation,
  statementMs: number,
  acceptsLostCommits = true,
): Connector {
  const demands = { statementMs, acceptsLostCommits };
  const { hosts, connectMs } = location;
  /** The index of the host that is tried first. */
  let first = 0;
  const hostsOfConnections = new WeakMap<Connection, number>();
  return {
    async connect(withinMs) {
      const endMs = performance.now() + withinMs;
      const failures: HostFailure[] = [];
      // `first` may change meanwhile, and each host has one turn.
      const begin = first;
      for (const turn of hosts.keys()) {
        const index = (begin + turn) % hosts.length;
        const host = hosts[index] as PostgresHost;
        // The hosts share the time: one that does not answer leaves time for the others.
        const shareMs = Math.min(connectMs, (endMs - performance.now()) / (hosts.length - turn));
        try {
          const connection = await openConnection(host, location, demands, shareMs);
          hostsOfConnections.set(connection, index);
          if (first === begin) first = index;
          return connection;
        } catch (error) {
          failures.push({ host, error });
        }
      }
      throw connectionFailure(location, failures);
    },
    passOver(connection) {
      if (hostsOfConnections.get(connection) === first) first = (first + 1) % hosts.length;
    },
  };
}
