import { setImmediate } from 'node:timers/promises';
import { isSamePlant, type NewPlant } from '../contract/plant.ts';
import { limits } from '../limits.ts';
import { StoreError } from '../store/errors.ts';
import { openDigest, type PlantFigures } from '../store/inspection.ts';
import type {
  CopiedPlant,
  CreateOutcome,
  PlantReader,
  PlantSnapshot,
  Settlement,
} from '../store/plants.ts';
import type { Store } from '../store/store.ts';
import { forgottenId } from '../store/tables/tokens.ts';
import { createAtLast } from './retry.ts';

export interface IdSample {
  count: number;
  readonly ids: bigint[];
}

export interface CopyCounts {
  created: number;
  /** The target held the same plant already. */
  same: number;
  /** In the target, the id belongs to a different plant. */
  readonly taken: IdSample;
  /** The target lacked the plant. A copy creates it. */
  readonly lacking: IdSample;
  /** The target alone has the plant. */
  readonly extra: IdSample;
}

export interface CopyOptions {
  /** From the id of a token in the source to its id in the target. */
  readonly tokenIds: ReadonlyMap<number, number>;
  /** @param plants of the source so far */
  onProgress(plants: number): void;
  /** Once, before an unavailable target is retried. */
  onWait(why: string): void;
  /** An unavailable target is retried for this time. */
  readonly waitMs: number;
  /** Plants from before this time are left out. */
  readonly sinceMs?: number | undefined;
}

export function noneCopied(): CopyCounts {
  const none = (): IdSample => ({ count: 0, ids: [] });
  return { created: 0, same: 0, taken: none(), lacking: none(), extra: none() };
}

/**
 * Creates the plants that the target lacks, and compares the others. Safe to repeat.
 *
 * @returns the figures of the source @throws StoreError. What was created until then stays.
 */
export async function copyPlants(
  source: PlantSnapshot,
  target: Store,
  counts: CopyCounts,
  options: CopyOptions,
): Promise<PlantFigures> {
  const { tokenIds, onProgress, onWait, waitMs, sinceMs } = options;
  const digest = openDigest();
  const underWay = new Set<Promise<void>>();

  async function write(plants: readonly CopiedPlant[]): Promise<void> {
    const outcomes = await createAtLast(target, plants, onWait, waitMs);
    for (const [index, { id }] of plants.entries()) {
      const outcome = outcomes[index] as Settlement;
      if (outcome instanceof StoreError)
        throw new StoreError('refused', `the target refuses the plant ${id}: ${outcome.message}`);
      countOutcome(counts, id, outcome);
    }
  }

  let seen = 0;
  for await (const { page, lacking } of inStep(source, target, counts, sinceMs)) {
    for (const plant of page) digest.add(plant);
    onProgress((seen += page.length));
    if (lacking.length === 0) continue;
    while (underWay.size >= target.batchesMax) await Promise.race(underWay);
    // A failed write stays in the set, so that the next race throws its error.
    const writing = write(lacking.map((plant) => withTokenOf(plant, tokenIds))).then(
      () => void underWay.delete(writing),
    );
    writing.catch(() => undefined);
    underWay.add(writing);
  }
  await Promise.all(underWay);
  return digest.figures();
}

/** The target needs no snapshot: plants never change. @returns what it lacks of each page */
async function* inStep(
  source: PlantSnapshot,
  target: PlantReader,
  counts: CopyCounts,
  sinceMs?: number,
) {
  await using plants = target
    .allPlants(sinceMs)
    [Symbol.asyncIterator]() as AsyncGenerator<NewPlant>;
  const next = async () => (await plants.next()).value as NewPlant | undefined;
  let there = await next();
  for await (const page of source.pages(sinceMs)) {
    // Reads of a SQLite store leave no time for signals.
    await setImmediate();
    const lacking: CopiedPlant[] = [];
    for (const plant of page) {
      for (; there !== undefined && there.id < plant.id; there = await next())
        add(counts.extra, there.id);
      if (there?.id !== plant.id) {
        add(counts.lacking, plant.id);
        lacking.push(plant);
      } else {
        countOutcome(counts, plant.id, isSamePlant(plant, there) ? 'same' : 'taken');
        there = await next();
      }
    }
    yield { page, lacking };
  }
  for (; there !== undefined; there = await next()) add(counts.extra, there.id);
}

function countOutcome(counts: CopyCounts, id: bigint, outcome: CreateOutcome): void {
  if (outcome === 'taken') add(counts.taken, id);
  else counts[outcome] += 1;
}

function add(some: IdSample, id: bigint): void {
  some.count += 1;
  if (some.ids.length < limits.transfer.copyIdsShown) some.ids.push(id);
}

/** The ids of the source mean nothing in the target. */
function withTokenOf(plant: CopiedPlant, tokenIds: ReadonlyMap<number, number>): CopiedPlant {
  return plant.createdBy > 0
    ? { ...plant, createdBy: tokenIds.get(plant.createdBy) ?? forgottenId }
    : plant;
}

/** Compares without changing anything. @param onProgress gets the plants of the source so far */
export async function comparePlants(
  source: PlantSnapshot,
  target: PlantReader,
  onProgress: (plants: number) => void = () => undefined,
): Promise<CopyCounts> {
  const counts = noneCopied();
  let seen = 0;
  for await (const { page } of inStep(source, target, counts)) onProgress((seen += page.length));
  return counts;
}
