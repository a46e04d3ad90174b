import { isSamePlant, type NewPlant } from '../contract/plant.ts';
import { limits } from '../limits.ts';
import { openDigest } from '../store/digest.ts';
import type { PlantFigures } from '../store/inspection.ts';
import type {
  CopiedPlant,
  CreateOutcome,
  PlantSnapshot,
  Store,
  StoreReader,
} from '../store/store.ts';
import { retryWhileUnavailable } from './retry.ts';

/** How many plants, and the first few ids of them. */
export interface Some {
  count: number;
  readonly ids: bigint[];
}

/** What has become of the plants of two stores. */
export interface CopyCounts {
  created: number;
  /** The target had this very plant already. */
  same: number;
  /** The id belongs to another plant in the target. */
  readonly taken: Some;
  /** Only the target has it. */
  readonly extra: Some;
}

export interface CopyOptions {
  /** By the id of a token in the source, the one that it has in the target. */
  readonly tokenIds: ReadonlyMap<number, number>;
  /** Told how many plants of the source have been gone through. */
  onProgress(plants: number): void;
  /** Told when the target cannot take plants now, and will be asked again for that time. */
  onWait(why: string): void;
  readonly waitMs: number;
}

export function noneCopied(): CopyCounts {
  return { created: 0, same: 0, taken: { count: 0, ids: [] }, extra: { count: 0, ids: [] } };
}

/**
 * Creates in the target what it lacks, and changes nothing else there. What is there is read and
 * compared; so this is safe to run again, and then takes up where it was interrupted.
 *
 * @returns what the source holds
 * @throws StoreError; the plants that are in the target by then stay there
 */
export async function copyPlants(
  source: PlantSnapshot,
  target: Store,
  counts: CopyCounts,
  options: CopyOptions,
): Promise<PlantFigures> {
  const { tokenIds, onProgress, onWait, waitMs } = options;
  const digest = openDigest();
  const underWay = new Set<Promise<void>>();

  async function write(plants: readonly CopiedPlant[]): Promise<void> {
    const outcomes = await retryWhileUnavailable(() => target.copyPlants(plants), onWait, waitMs);
    for (const [index, { id }] of plants.entries())
      countOutcome(counts, id, outcomes[index] as CreateOutcome);
  }

  let seen = 0;
  for await (const { page, lacking } of inStep(source, target, counts)) {
    for (const plant of page) digest.add(plant);
    onProgress((seen += page.length));
    if (lacking.length === 0) continue;
    while (underWay.size >= target.batchesMax) await Promise.race(underWay);
    // One that has failed stays among them, for the next look at them to throw.
    const writing = write(lacking.map((plant) => withTokenOf(plant, tokenIds))).then(
      () => void underWay.delete(writing),
    );
    writing.catch(() => undefined);
    underWay.add(writing);
  }
  await Promise.all(underWay);
  return digest.figures();
}

/**
 * Goes through both at the same time, since both give plants in ascending order of id. The target
 * is read page by page, as plants are neither changed nor removed; what is created in it meanwhile
 * is behind, or is found when its turn comes.
 *
 * @returns the pages of the source, and what the target lacks of each
 */
async function* inStep(
  source: PlantSnapshot,
  target: StoreReader,
  counts: CopyCounts,
): AsyncGenerator<Step> {
  const plants = target.listPlants({ limit: Number.MAX_SAFE_INTEGER })[Symbol.asyncIterator]();
  const next = async () => (await plants.next()).value as NewPlant | undefined;
  let there = await next();
  for await (const page of source.pages()) {
    const lacking: CopiedPlant[] = [];
    for (const plant of page) {
      for (; there !== undefined && there.id < plant.id; there = await next())
        add(counts.extra, there.id);
      if (there?.id !== plant.id) lacking.push(plant);
      else {
        countOutcome(counts, plant.id, isSamePlant(plant, there) ? 'same' : 'taken');
        there = await next();
      }
    }
    yield { page, lacking };
  }
  for (; there !== undefined; there = await next()) add(counts.extra, there.id);
}

interface Step {
  readonly page: readonly CopiedPlant[];
  readonly lacking: readonly CopiedPlant[];
}

function countOutcome(counts: CopyCounts, id: bigint, outcome: CreateOutcome): void {
  if (outcome === 'taken') add(counts.taken, id);
  else counts[outcome] += 1;
}

function add(some: Some, id: bigint): void {
  some.count += 1;
  if (some.ids.length < limits.transfer.copyIdsShown) some.ids.push(id);
}

/** A token that has gone missing in the source is shown there like that of the environment. */
function withTokenOf(plant: CopiedPlant, tokenIds: ReadonlyMap<number, number>): CopiedPlant {
  return plant.createdBy > 0 ? { ...plant, createdBy: tokenIds.get(plant.createdBy) ?? 0 } : plant;
}

/** Compares without changing anything. */
export async function comparePlants(
  source: PlantSnapshot,
  target: StoreReader,
): Promise<CopyCounts> {
  const counts = noneCopied();
  for await (const _ of inStep(source, target, counts));
  return counts;
}
