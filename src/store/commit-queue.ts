import { limits } from '../limits.ts';
import { type SharedCounter, sharedCounter } from '../shared-counter.ts';
import { type CreateOutcome, type PlantToCreate, StoreError } from './store.ts';

/** What became of a plant that was handed over. After a `StoreError` it may be stored or not. */
export type Settlement = CreateOutcome | StoreError;

/** Whether a plant was taken. `full` and `unavailable` mean that it has certainly not been stored. */
export type Offer = 'queued' | 'full' | 'unavailable';

/** A plant that waits for a transaction, and who waits for it. */
export interface WaitingPlant extends PlantToCreate {
  /** What it holds of memory while it waits. */
  readonly bytes: number;
  /** Called once, after the transaction is durable or has failed, and after `commitMs` at the latest. */
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

/**
 * Group commit. One transaction is under way at a time, and while it is, the next one gathers: so the batch grows
 * with the load, and without load a single plant waits for nobody and no timer. A transaction takes all that have
 * gathered, so that a plant waits for the one under way and its own, however full the queue is.
 *
 * When the queue is full it takes nothing more. When a plant has waited for `commitMs`, everything that waits is settled
 * with an error and nothing is taken until the store answers again.
 */
export function createCommitQueue(
  commit: (plants: readonly PlantToCreate[]) => Promise<readonly CreateOutcome[]>,
  bounds: { readonly queuePlantsMax: number; readonly commitMs: number },
  held: HeldByQueues = { queuedPlants: sharedCounter(), queuedBytes: sharedCounter() },
): CommitQueue {
  let gathering: WaitingPlant[] = [];
  /** When the first of those was handed over. */
  let gatheringSince = 0;
  let committing: WaitingPlant[] = [];
  let committingSince = 0;
  let state: 'idle' | 'scheduled' | 'committing' | 'stalled' = 'idle';

  function offer(plant: WaitingPlant): Offer {
    if (state === 'stalled') return 'unavailable';
    if (!held.queuedPlants.add(1, bounds.queuePlantsMax)) return 'full';
    if (!held.queuedBytes.add(plant.bytes, limits.queueBytesMax)) {
      held.queuedPlants.take(1);
      return 'full';
    }
    if (gathering.length === 0) gatheringSince = performance.now();
    gathering.push(plant);
    if (state === 'idle') schedule();
    return 'queued';
  }

  /** Waits for the requests that have arrived in the same turn of the event loop, and no longer. */
  function schedule(): void {
    state = 'scheduled';
    setImmediate(commitNext);
  }

  function commitNext(): void {
    if (gathering.length === 0) {
      state = 'idle';
      return;
    }
    state = 'committing';
    committing = gathering;
    committingSince = gatheringSince;
    gathering = [];
    const alarm = setTimeout(stall, Math.max(1, gatheringSince + bounds.commitMs - performance.now()));
    commit(committing).then(
      (outcomes) => finish(alarm, outcomes),
      (error: StoreError) => finish(alarm, error),
    );
  }

  /** The next transaction starts before the answers to the last one are written, so that the disk does not wait for them. */
  function finish(alarm: NodeJS.Timeout, outcomes: readonly CreateOutcome[] | StoreError): void {
    clearTimeout(alarm);
    const done = committing;
    committing = [];
    commitNext();
    settle(done, outcomes);
  }

  function stall(): void {
    state = 'stalled';
    const waited = new StoreError('unavailable', `the store has not stored a plant within ${bounds.commitMs} ms`);
    // Nobody waits for these any more; the transaction under way still ends in `finish`, which takes up the work again.
    settle(committing.splice(0), waited);
    settle(gathering.splice(0), waited);
  }

  function settle(batch: readonly WaitingPlant[], outcomes: readonly CreateOutcome[] | StoreError): void {
    held.queuedPlants.take(batch.length);
    held.queuedBytes.take(batch.reduce((bytes, plant) => bytes + plant.bytes, 0));
    batch.forEach((plant, index) => {
      plant.settle(outcomes instanceof StoreError ? outcomes : (outcomes[index] as CreateOutcome));
    });
  }

  function ageMs(): number {
    if (committing.length > 0) return performance.now() - committingSince;
    return gathering.length > 0 ? performance.now() - gatheringSince : 0;
  }

  return { offer, ageMs };
}
