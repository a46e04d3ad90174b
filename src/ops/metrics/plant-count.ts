import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../../limits.ts';
import type { BackupRecord } from '../../store/tables/tables.ts';
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
  /** Of the last count. */
  readonly counted: number;
  /** Start of the last count, in milliseconds since the epoch. */
  readonly beganAtMs: number;
}

/**
 * Counts the plants on demand, for at most a hundredth of the time. Plants are never removed, so a
 * count in steps contains all plants that were stored when it began, and some later ones. Only a
 * loss makes the number less than before.
 *
 * @param created plants that this service has created
 * @param waiting plants that this service may be creating now
 * @returns undefined before the first count; a call also starts a new count if it is due
 */
export function plantCount(
  reader: ReaderThread,
  created: () => number,
  waiting: () => number,
): () => PlantCount | undefined {
  const { countEveryMs, countPauses } = limits.ops;
  /** `others`: at most as many plants as are stored, without those that this service has created. */
  let last: { readonly others: number; counted: number; beganAtMs: number } | undefined;
  let isCounting = false;
  let dueMs = 0;

  async function count(): Promise<void> {
    isCounting = true;
    const [startedMs, beganAtMs, createdBefore] = [performance.now(), Date.now(), created()];
    try {
      const counted = await countAll(reader);
      // A plant is counted a moment before it is known as created.
      if (created() + waiting() > createdBefore) await delay(limits.ops.countSettlesMs);
      const createdNow = created();
      const known = last ? last.others + createdNow : 0;
      const isLess = known > counted + createdNow - createdBefore;
      const sure = counted - waiting();
      last = { others: (isLess ? sure : Math.max(sure, known)) - createdNow, counted, beganAtMs };
    } catch {
      // The last count stays in force.
    }
    const endedMs = performance.now();
    dueMs = endedMs + Math.max(countEveryMs, countPauses * (endedMs - startedMs));
    isCounting = false;
  }

  return () => {
    if (!isCounting && performance.now() >= dueMs) void count();
    return last && { ...last, plants: last.others + created() };
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
