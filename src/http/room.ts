/** What a room knows of a connection. */
interface Occupant {
  /** Where it comes from. */
  readonly address: string;
  destroy(): void;
}

/** Bounds the connections of a listener, and always takes one more: the idlest is closed for it. */
export interface Room {
  /** A connection has come. */
  enter(connection: Occupant): void;
  /** A whole request has come on it. */
  noteRequest(connection: Occupant): void;
  /** It has been closed. */
  leave(connection: Occupant): void;
}

/**
 * The idlest connection is the one that came, or last sent a whole request, the longest time ago.
 * It is taken from the address with the most connections: so no client closes the connections of an
 * address that has fewer.
 */
export function createRoom(connectionsMax: number): Room {
  /** The connections of each address; the first is the idlest. */
  const byAddress = new Map<string, Set<Occupant>>();
  /** To which of them each belongs. */
  const homes = new Map<Occupant, Set<Occupant>>();

  function leave(connection: Occupant): void {
    const home = homes.get(connection);
    home?.delete(connection);
    homes.delete(connection);
    if (home?.size === 0) byAddress.delete(connection.address);
  }

  return {
    enter(connection) {
      const { address } = connection;
      const home = byAddress.get(address) ?? new Set();
      byAddress.set(address, home.add(connection));
      homes.set(connection, home);
      if (homes.size <= connectionsMax) return;
      const largest = byAddress
        .values()
        .reduce((one, other) => (other.size > one.size ? other : one));
      for (const idlest of largest.values().take(1)) {
        leave(idlest);
        idlest.destroy();
      }
    },
    noteRequest(connection) {
      const home = homes.get(connection);
      // What came before it was closed may still be read.
      if (home?.delete(connection)) home.add(connection);
    },
    leave,
  };
}
