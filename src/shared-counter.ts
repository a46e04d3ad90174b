/** A count that several threads keep together, with a bound. */
export interface SharedCounter {
  /** Adds if that does not go over `max`, and tells whether it did. */
  add(count: number, max: number): boolean;
  take(count: number): void;
}

/** One number for a counter that threads share; it may be sent to another thread. */
export function sharedCount(): SharedArrayBuffer {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
}

/** Counts in `memory`; without one, it counts for this thread alone. */
export function sharedCounter(memory: SharedArrayBuffer = sharedCount()): SharedCounter {
  const cell = new Int32Array(memory);
  return {
    add(count, max) {
      if (Atomics.add(cell, 0, count) + count <= max) return true;
      Atomics.sub(cell, 0, count);
      return false;
    },
    take: (count) => void Atomics.sub(cell, 0, count),
  };
}
