export type SharedCounter = ReturnType<typeof sharedCounter>;

/** The memory of a counter for each name, which may be sent to other threads. */
export function sharedMemory<N extends string>(names: readonly N[]) {
  const memories = names.map((name) => [name, memoryOfOne()]);
  return Object.fromEntries(memories) as Record<N, SharedArrayBuffer>;
}

export function sharedCounters<N extends string>(memory: Readonly<Record<N, SharedArrayBuffer>>) {
  const entries = Object.entries<SharedArrayBuffer>(memory);
  const counters = entries.map(([name, one]) => [name, sharedCounter(one)]);
  return Object.fromEntries(counters) as Record<N, SharedCounter>;
}

function memoryOfOne(): SharedArrayBuffer {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
}

export function sharedCounter(memory: SharedArrayBuffer = memoryOfOne()) {
  const cell = new Int32Array(memory);
  return {
    /** Adds, unless the sum would exceed `max`. @returns whether it has added */
    add(count: number, max: number): boolean {
      if (Atomics.add(cell, 0, count) + count <= max) return true;
      Atomics.sub(cell, 0, count);
      return false;
    },
    subtract: (count: number) => void Atomics.sub(cell, 0, count),
    count: () => Atomics.load(cell, 0),
  };
}
