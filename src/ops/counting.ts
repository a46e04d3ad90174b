import { limits } from '../limits.ts';
import type { Reading } from './reading.ts';

/** How many plants there were, when that was (milliseconds since the epoch), and how many this service had created until then. */
export interface Count {
  readonly plants: number;
  readonly atMs: number;
  readonly createdBefore: number;
}

export interface Counting extends Disposable {
  /** Undefined before the first. */
  last(): Count | undefined;
}

/**
 * Counts the plants again and again, for at most a hundredth of the time. Plants are never removed, so a count that is made in parts
 * has all that were there when it began, and of those that came meanwhile the ones that came after the part under way.
 *
 * @param created how many this service has created
 * @param now the clock, in milliseconds since the epoch
 */
export function startCounting(reading: Reading, created: () => number, now: () => number): Counting {
  let last: Count | undefined;
  let isStopped = false;
  let due = setTimeout(count, limits.countFirstMs);

  async function count(): Promise<void> {
    const startedMs = performance.now();
    await countAll(reading).then(
      (plants) => (last = { plants, atMs: now(), createdBefore: created() }),
      // The time of the last one tells.
      () => undefined,
    );
    const tookMs = performance.now() - startedMs;
    if (!isStopped) due = setTimeout(count, Math.max(limits.countEveryMs, limits.countPauses * tookMs));
  }

  return {
    last: () => last,
    [Symbol.dispose]() {
      isStopped = true;
      clearTimeout(due);
    },
  };
}

async function countAll(reading: Reading): Promise<number> {
  let plants = 0;
  let after: bigint | undefined;
  for (;;) {
    const part = await reading.read('countPlantsAfter', [after, limits.countWindowPlants]);
    plants += part.plants;
    if (part.plants < limits.countWindowPlants) return plants;
    after = part.last;
  }
}
