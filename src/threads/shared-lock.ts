import { threadId } from 'node:worker_threads';
import { limits } from '../limits.ts';

/** The lock is 0, or the ticket of its owner, plus 1 if other threads may wait. */
const [free, waited] = [0, 1];
const [lockCell, idleCell] = [0, 1];

/** In a ticket, the thread comes before the number of the ticket and the bit of `waited`. */
const threadShift = 8;
const threadOf = (ticket: number) => ticket >> threadShift;

/**
 * Resolves when a cell of shared memory no longer has that value, or at a notification.
 *
 * @returns false if the wait has ended after `ms`
 */
export async function untilChanged(
  cells: Int32Array,
  index: number,
  value: number,
  ms: number,
): Promise<boolean> {
  const changed = Promise.resolve(Atomics.waitAsync(cells, index, value).value).then(() => true);
  // The event loop does not count the wait: a command that waits for nothing else would end. The
  // timer of `waitAsync` would go off also after the notification, and take a tenth of a commit.
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(late.resolve, ms, false);
  const isInTime = await Promise.race([changed, late.promise]);
  clearTimeout(timer);
  // A later notification is for another wait.
  if (!isInTime) void changed.then(() => Atomics.notify(cells, index, 1));
  return isInTime;
}

/**
 * A lock of all threads of the process. No thread waits for long for a thread that stands still,
 * unless that thread has the lock and is not idle.
 *
 * @param cells two cells of shared memory, 0 at first
 */
export function sharedLock(cells: Int32Array) {
  let count = 0;

  function newTicket(): number {
    count += 2;
    return ((threadId + 1) << threadShift) | (count & 0xfe);
  }

  /** @returns `free` if the lock has been taken, or its value until the release */
  function take(ticket: number): number {
    const value = Atomics.compareExchange(cells, lockCell, free, ticket);
    if (value !== free) Atomics.compareExchange(cells, lockCell, value, value | waited);
    return value && value | waited;
  }

  function takeFromIdle(ticket: number, value: number): boolean {
    if (Atomics.load(cells, idleCell) !== (value & ~waited)) return false;
    return Atomics.compareExchange(cells, lockCell, value, ticket) === value;
  }

  return {
    /** Resolves with the ticket to release the lock with. The event loop turns meanwhile. */
    async acquire(): Promise<number> {
      let ticket = newTicket();
      for (let value = take(ticket); value !== free; value = take(ticket)) {
        ticket |= waited;
        // The thread that was woken may stand still, too.
        const isInTime = await untilChanged(cells, lockCell, value, limits.service.standstillMs);
        if (!isInTime && takeFromIdle(ticket, value)) break;
      }
      // A ticket comes again.
      Atomics.store(cells, idleCell, free);
      return ticket & ~waited;
    },
    /** Until the release, another thread may take the lock if it has waited for long. */
    allowTakeover: (ticket: number) => void Atomics.store(cells, idleCell, ticket),
    /** Does nothing if another thread has taken the lock. */
    release(ticket: number): void {
      for (;;) {
        const value = Atomics.load(cells, lockCell);
        if ((value & ~waited) !== ticket) return;
        if (Atomics.compareExchange(cells, lockCell, value, free) !== value) continue;
        if (value & waited) Atomics.notify(cells, lockCell, 1);
        return;
      }
    },
    /** @returns the ticket, if that thread has the lock */
    ticketOf(thread: number): number | undefined {
      const ticket = Atomics.load(cells, lockCell) & ~waited;
      return threadOf(ticket) === thread + 1 ? ticket : undefined;
    },
  };
}
