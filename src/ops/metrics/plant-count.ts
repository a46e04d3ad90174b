import { limits } from '../../limits.ts';
import type { BackupRecord } from '../../store/small-tables.ts';
import type { ReaderThread } from '../reader.ts';

/** @returns how many plants the backup lacks; undefined if the count does not tell */
export function missingPlants(
  backup: Pick<BackupRecord, 'plants'>,
  count: number | undefined,
): number | undefined {
  // Another process may have created plants between the count and the backup.
  return count === undefined || count < backup.plants ? undefined : count - backup.plants;
}

export interface PlantCount {
  /** Of the last count, and those that this service has created since. */
  readonly plants: number;
  /** Start of the last count, in milliseconds since the epoch. */
  readonly beganAtMs: number;
}

/**
 * Counts the plants on demand, for at most a hundredth of the time. Plants are never removed, so a
 * count in steps contains all plants that were stored when it began, and some later ones.
 *
 * @param created plants that this service has created
 * @returns undefined before the first count; a call also starts a new count if it is due
 */
export function plantCount(
  reader: ReaderThread,
  created: () => number,
): () => PlantCount | undefined {
  const { countEveryMs, countPauses } = limits.ops;
  /** `others`: without those that this service had created at the last count. */
  let last: { readonly others: number; readonly beganAtMs: number } | undefined;
  let isCounting = false;
  let dueMs = 0;

  async function count(): Promise<void> {
    isCounting = true;
    const [startedMs, beganAtMs] = [performance.now(), Date.now()];
    const createdBefore = created();
    await countAll(reader).then(
      (plants) => {
        const known = last ? last.others + created() : 0;
        // A plant that came during the count may be counted or not. Only a loss makes the number less.
        const isLess = known > plants + created() - createdBefore;
        last = { others: (isLess ? plants : Math.max(plants, known)) - created(), beganAtMs };
      },
      // The last count stays in force.
      () => undefined,
    );
    const endedMs = performance.now();
    dueMs = endedMs + Math.max(countEveryMs, countPauses * (endedMs - startedMs));
    isCounting = false;
  }

  return () => {
    if (!isCounting && performance.now() >= dueMs) void count();
    return last && { plants: last.others + created(), beganAtMs: last.beganAtMs };
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
