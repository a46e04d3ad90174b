import { limits } from '../../limits.ts';
import type { ReaderThread } from '../reader.ts';

/**
 * How many plants there were, when that was (milliseconds since the epoch), and how many this
 * service had created until then.
 */
export interface Count {
  readonly plants: number;
  readonly atMs: number;
  readonly createdBefore: number;
}

/**
 * The last count, if there has been one. Asking for it has the plants counted again, if that was
 * long ago.
 */
export type LastCount = () => Count | undefined;

/**
 * Counts the plants when somebody wants to know, for at most a hundredth of the time. Plants are
 * never removed, so a count that is made in parts has all that were there when it began, and of
 * those that came meanwhile the ones that came after the part under way.
 *
 * @param created how many this service has created
 * @param now the clock, in milliseconds since the epoch
 */
export function plantCount(
  reader: ReaderThread,
  created: () => number,
  now: () => number,
): LastCount {
  let last: Count | undefined;
  let isCounting = false;
  let dueMs = 0;

  async function count(): Promise<void> {
    isCounting = true;
    const startedMs = performance.now();
    await countAll(reader).then(
      (plants) => (last = { plants, atMs: now(), createdBefore: created() }),
      // The time of the last one tells.
      () => undefined,
    );
    const endedMs = performance.now();
    dueMs =
      endedMs + Math.max(limits.ops.countEveryMs, limits.ops.countPauses * (endedMs - startedMs));
    isCounting = false;
  }

  return () => {
    if (!isCounting && performance.now() >= dueMs) void count();
    return last;
  };
}

async function countAll(reader: ReaderThread): Promise<number> {
  let plants = 0;
  let after: bigint | undefined;
  for (;;) {
    const part = await reader.read('countPlantsAfter', [after, limits.ops.countWindowPlants]);
    plants += part.plants;
    if (part.plants < limits.ops.countWindowPlants) return plants;
    after = part.last;
  }
}
