import { limits } from '../../limits.ts';
import type { BackupRecord } from '../../store/backups.ts';
import type { ReaderThread } from '../reader.ts';

export interface Count {
  readonly plants: number;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  /** With the plants that this service has created since the count. */
  readonly plantsNow: number;
}

/** @returns how many plants the backup lacks; undefined if the count does not tell */
export function missingPlants(
  backup: Pick<BackupRecord, 'plants'>,
  count: Count | undefined,
): number | undefined {
  // Another process may have created plants between the count and the backup.
  if (count === undefined || count.plantsNow < backup.plants) return undefined;
  return count.plantsNow - backup.plants;
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
  let last: (Pick<Count, 'plants' | 'atMs'> & { readonly createdBefore: number }) | undefined;
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
    if (last === undefined) return undefined;
    const { plants, atMs, createdBefore } = last;
    return { plants, atMs, plantsNow: plants + created() - createdBefore };
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
