import { limits } from '../../limits.ts';
import type { ReaderThread } from '../reader.ts';

export interface Count {
  readonly plants: number;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  /** Plants that this service had created by then. */
  readonly createdBefore: number;
}

/**
 * Counts the plants on demand, for at most a hundredth of the time. Plants are never removed, so a
 * count in steps contains all plants that were stored when it began, and some later ones.
 *
 * @param created plants that this service has created
 * @param now milliseconds since the epoch
 * @returns the last count, undefined before the first; a call also starts a new one if it is due
 */
export function plantCount(
  reader: ReaderThread,
  created: () => number,
  now: () => number,
): () => Count | undefined {
  const { countEveryMs, countPauses } = limits.ops;
  let last: Count | undefined;
  let isCounting = false;
  let dueMs = 0;

  async function count(): Promise<void> {
    isCounting = true;
    const startedMs = performance.now();
    await countAll(reader).then(
      (plants) => (last = { plants, atMs: now(), createdBefore: created() }),
      // The age of the last count shows the failure.
      () => undefined,
    );
    const endedMs = performance.now();
    dueMs = endedMs + Math.max(countEveryMs, countPauses * (endedMs - startedMs));
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
  do {
    const part = await reader.read('countMatches', [{ after, budgetMs: limits.ops.countStepMs }]);
    plants += part.plants;
    after = part.next;
  } while (after !== undefined);
  return plants;
}
