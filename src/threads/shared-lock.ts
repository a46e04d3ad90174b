/** A lock of all threads of the process. A thread may have the lock once. */
export interface SharedLock {
  /** Resolves when this thread has the lock. Its event loop turns meanwhile. */
  acquire(): Promise<void>;
  /** As `acquire`, on a thread without an event loop. */
  acquireBlocking(): void;
  release(): void;
}

const [free, held, heldWithWaiters] = [0, 1, 2];

/** Resolves when a cell of shared memory no longer has that value, or at a notification. */
export async function change(cells: Int32Array, index: number, value: number): Promise<void> {
  // The event loop does not count the wait: a command that waits for nothing else would end.
  const alive = setInterval(() => {}, 2 ** 31 - 1);
  await Atomics.waitAsync(cells, index, value).value;
  clearInterval(alive);
}

/** @param cell shared memory, 0 at first. A cell that is never 2 wakes no thread. */
export function sharedLock(cell: Int32Array): SharedLock {
  const isFreeAfterWait = () => Atomics.exchange(cell, 0, heldWithWaiters) === free;
  return {
    async acquire() {
      if (Atomics.compareExchange(cell, 0, free, held) === free) return;
      while (!isFreeAfterWait()) await change(cell, 0, heldWithWaiters);
    },
    acquireBlocking() {
      if (Atomics.compareExchange(cell, 0, free, held) === free) return;
      while (!isFreeAfterWait()) Atomics.wait(cell, 0, heldWithWaiters);
    },
    release() {
      if (Atomics.exchange(cell, 0, free) === heldWithWaiters) Atomics.notify(cell, 0, 1);
    },
  };
}
