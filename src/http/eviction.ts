interface Evictable {
  /** An IP address. */
  readonly address: string;
  destroy(): void;
}

/** Bounds the connections of a listener: one connection too many closes the idlest connection. */
export interface Eviction {
  add(connection: Evictable): void;
  /** A whole request has arrived. */
  touch(connection: Evictable): void;
  remove(connection: Evictable): void;
}

/**
 * The idlest connection is the least recently added or touched connection of the address with the
 * most connections. So no client closes connections of an address that has fewer.
 */
export function createEviction(connectionsMax: number): Eviction {
  /** The connections of each address. The first is the idlest. */
  const byAddress = new Map<string, Set<Evictable>>();
  const groups = new Map<Evictable, Set<Evictable>>();

  function remove(connection: Evictable): void {
    const group = groups.get(connection);
    group?.delete(connection);
    groups.delete(connection);
    if (group?.size === 0) byAddress.delete(connection.address);
  }

  return {
    add(connection) {
      const { address } = connection;
      const group = byAddress.get(address) ?? new Set();
      byAddress.set(address, group.add(connection));
      groups.set(connection, group);
      if (groups.size <= connectionsMax) return;
      const largest = byAddress
        .values()
        .reduce((one, other) => (other.size > one.size ? other : one));
      for (const idlest of largest.values().take(1)) {
        remove(idlest);
        idlest.destroy();
      }
    },
    touch(connection) {
      const group = groups.get(connection);
      // A request may still be read after the eviction.
      if (group?.delete(connection)) group.add(connection);
    },
    remove,
  };
}
