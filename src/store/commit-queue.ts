import { limits } from '../limits.ts';
import { type SharedCounter, sharedCounter } from '../threads/shared-counter.ts';
import { setDeadline } from './deadline.ts';
import { StoreError } from './errors.ts';
import type { CreateOutcome, PlantToCreate } from './plants.ts';

/** What became of a plant that was handed over. After a `StoreError` it may be stored or not. */
export type Settlement = CreateOutcome | StoreError;

/**
 * Whether a plant was taken. `full` and `unavailable` mean that it has certainly not been stored.
 */
export type Offer = 'queued' | 'full' | 'unavailable';

/** A plant that waits for a transaction, and who waits for it. */
export interface WaitingPlant extends PlantToCreate {
  /** What it holds of memory while it waits. */
  readonly bytes: number;
  /**
   * Called once, after the transaction is durable or has failed, and after `commitMs` at the
   * latest.
   */
  settle(settlement: Settlement): void;
}

export interface CommitQueue {
  /** Hands a plant over for the next transaction. It is settled only if it was `queued`. */
  offer(plant: WaitingPlant): Offer;
  /** How long the plant has waited that has waited longest; 0 if none waits. */
  ageMs(): number;
}

/** What the queues of all threads hold together. */
export interface HeldByQueues {
  readonly queuedPlants: SharedCounter;
  readonly queuedBytes: SharedCounter;
}

export interface CommitQueueOptions {
  readonly queuePlantsMax: number;
  readonly commitMs: number;
  /** Transactions that may be under way at the same time. */
  readonly batchesMax: number;
}

/** Plants that are in one transaction, and when the first of them was handed over. */
interface Batch {
  readonly plants: readonly WaitingPlant[];
  readonly sinceMs: number;
  /** Nobody waits for it any more, but it still goes on. */
  isOverdue: boolean;
}

/**
 * Group commit. While a transaction is under way, the next one gathers: so the batch grows with the
 * load, and without load a single plant waits for nobody and no timer. A transaction takes all that
 * have gathered, so that a plant waits for one that is under way and its own, however full the
 * queue is. Where several may be under way, the next one gathers for no longer than
 * `databaseGatherMs`: a store that takes its time is given it meanwhile, and one that is fast few
 * large ones.
 *
 * When the queue is full it takes nothing more. A transaction that has not ended when its first
 * plant has waited for `commitMs` is settled with an error. When all that may be under way are like
 * that, so is what gathers, and nothing is taken until the store answers again.
 */
export function createCommitQueue(
  commit: (plants: readonly PlantToCreate[]) => Promise<readonly CreateOutcome[]>,
  bounds: CommitQueueOptions,
  held: HeldByQueues = { queuedPlants: sharedCounter(), queuedBytes: sharedCounter() },
): CommitQueue {
  let gathering: WaitingPlant[] = [];
  /** When the first of those was handed over. */
  let gatheringSinceMs = 0;
  const underWay = new Set<Batch>();
  let stopGathering = () => {};
  /** How many of them are overdue. */
  let overdue = 0;

  function offer(plant: WaitingPlant): Offer {
    if (overdue === bounds.batchesMax) return 'unavailable';
    if (!held.queuedPlants.add(1, bounds.queuePlantsMax)) return 'full';
    if (!held.queuedBytes.add(plant.bytes, limits.store.queueBytesMax)) {
      held.queuedPlants.take(1);
      return 'full';
    }
    if (gathering.push(plant) === 1) schedule();
    return 'queued';
  }

  /**
   * The first waits for the requests that have arrived in the same turn of the event loop, and no
   * longer.
   */
  function schedule(): void {
    gatheringSinceMs = performance.now();
    if (underWay.size === 0) setImmediate(commitNext);
    else if (underWay.size < bounds.batchesMax)
      stopGathering = setDeadline(limits.store.gatherMs, commitNext);
  }

  function commitNext(): void {
    stopGathering();
    if (gathering.length === 0) return;
    const batch: Batch = { plants: gathering, sinceMs: gatheringSinceMs, isOverdue: false };
    underWay.add(batch);
    gathering = [];
    const stall = () => {
      batch.isOverdue = true;
      overdue += 1;
      const waited = new StoreError(
        'unavailable',
        `the store has not stored a plant within ${bounds.commitMs} ms`,
      );
      settle(batch.plants, waited);
      // These came after the last transaction had begun, and can only begin when one ends.
      if (overdue === bounds.batchesMax) settle(gathering.splice(0), waited);
    };
    const cancelDeadline = setDeadline(batch.sinceMs + bounds.commitMs - performance.now(), stall);
    const finish = (outcomes: readonly CreateOutcome[] | StoreError) => {
      cancelDeadline();
      if (batch.isOverdue) overdue -= 1;
      underWay.delete(batch);
      // The next transaction starts before the answers to the last one are written, so that the
      // disk does not wait for them.
      commitNext();
      if (!batch.isOverdue) settle(batch.plants, outcomes);
    };
    commit(batch.plants).then(finish, finish);
  }

  function settle(
    batch: readonly WaitingPlant[],
    outcomes: readonly CreateOutcome[] | StoreError,
  ): void {
    held.queuedPlants.take(batch.length);
    held.queuedBytes.take(batch.reduce((bytes, plant) => bytes + plant.bytes, 0));
    batch.forEach((plant, index) => {
      plant.settle(outcomes instanceof StoreError ? outcomes : (outcomes[index] as CreateOutcome));
    });
  }

  function ageMs(): number {
    for (const { sinceMs, isOverdue } of underWay)
      if (!isOverdue) return performance.now() - sinceMs;
    return gathering.length > 0 ? performance.now() - gatheringSinceMs : 0;
  }

  return { offer, ageMs };
}
