interface Evictable {
  readonly address: string;
  destroy(): void;
}

export type Eviction = ReturnType<typeof createEviction>;

/**
 * Bounds the connections of a listener: one connection too many closes the idlest connection. The
 * idlest connection is the least recently added or touched connection of the address with the
 * most connections. So no client closes connections of an address that has fewer.
 */
export function createEviction(connectionsMax: number) {
  /** The first connection of an address is the idlest. */
  const byAddress = new Map<string, Set<Evictable>>();
  let connections = 0;

  function remove(connection: Evictable): void {
    const group = byAddress.get(connection.address);
    if (!group?.delete(connection)) return;
    connections -= 1;
    if (group.size === 0) byAddress.delete(connection.address);
  }

  return {
    add(connection: Evictable): void {
      const group = byAddress.get(connection.address) ?? new Set();
      byAddress.set(connection.address, group.add(connection));
      connections += 1;
      if (connections <= connectionsMax) return;
      const largest = byAddress
        .values()
        .reduce((one, other) => (other.size > one.size ? other : one));
      for (const idlest of largest.values().take(1)) {
        remove(idlest);
        idlest.destroy();
      }
    },
    touch(connection: Evictable): void {
      const group = byAddress.get(connection.address);
      // A request may still be read after the eviction.
      if (group?.delete(connection)) group.add(connection);
    },
    remove,
  };
}
