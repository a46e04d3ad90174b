import type { Rate } from '../store/tables/tokens.ts';

export type RateLimiter = ReturnType<typeof rateLimiterIn>;

const slots = 1 << 15;
const hashShift = 32 - 15;
/** Slots that one token may have. */
const probes = 16;
const slotBytes = Int32Array.BYTES_PER_ELEMENT + BigInt64Array.BYTES_PER_ELEMENT;

/** The buckets of a node. Memory that no bucket needs is not resident. */
export function rateLimitMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(slots * slotBytes);
}

/**
 * Limits how many creates each token may send to one node, over all its threads.
 *
 * The generic cell rate algorithm (ITU-T I.371), a token bucket that needs one number: the time at
 * which the bucket is full again. Threads change the number by compare-and-swap.
 *
 * A token without a slot gets the slot whose bucket is full soonest, with a full bucket. The token
 * that had the slot loses nothing if its bucket was full, and else gets a few creates too many.
 */
export function rateLimiterIn(memory: SharedArrayBuffer) {
  /** In microseconds of `nowUs`. */
  const fullAt = new BigInt64Array(memory, 0, slots);
  const owners = new Int32Array(memory, slots * BigInt64Array.BYTES_PER_ELEMENT, slots);

  function slotOf(bucketId: number, now: bigint): number {
    const first = Math.imul(bucketId, 0x9e3779b1) >>> hashShift;
    let fullest = first;
    for (let probe = 0; probe < probes; probe += 1) {
      const slot = (first + probe) % slots;
      if (Atomics.load(owners, slot) === bucketId) return slot;
      if (Atomics.load(fullAt, slot) < Atomics.load(fullAt, fullest)) fullest = slot;
    }
    const [owner, before] = [Atomics.load(owners, fullest), Atomics.load(fullAt, fullest)];
    // Another thread may have given the slot to this token, and taken creates of it.
    const isMine =
      owner !== bucketId && Atomics.compareExchange(owners, fullest, owner, bucketId) === owner;
    if (isMine && before > now) Atomics.compareExchange(fullAt, fullest, before, now);
    // Another thread may have given another slot to this token: the first one counts.
    return slotOf(bucketId, now);
  }

  return {
    /** @returns 0 if a create was taken, or the ms until the bucket has the next one */
    tryTake(bucketId: number, { perDay, burst }: Rate): number {
      const intervalUs = dayUs / perDay;
      const aheadUsMax = intervalUs * (burst - 1);
      const now = nowUs();
      const slot = slotOf(bucketId, now);
      for (;;) {
        const before = Atomics.load(fullAt, slot);
        const from = before > now ? before : now;
        const aheadUs = Number(from - now);
        if (aheadUs > aheadUsMax) return (aheadUs - aheadUsMax) / 1_000;
        const after = from + BigInt(Math.round(intervalUs));
        if (Atomics.compareExchange(fullAt, slot, before, after) === before) return 0;
      }
    },
  };
}

const dayUs = 86_400_000_000;

/** The monotonic clock of the machine, which all threads share. */
const offsetMs = Number(process.hrtime.bigint()) / 1e6 - performance.now();

function nowUs(): bigint {
  return BigInt(Math.floor((performance.now() + offsetMs) * 1_000));
}
