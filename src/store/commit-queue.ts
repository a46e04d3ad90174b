import { limits } from '../limits.ts';
import { intervalText } from '../quantity-text.ts';
import type { SharedCounter } from '../threads/shared-counter.ts';
import { setDeadline } from './deadline.ts';
import { StoreError } from './errors.ts';
import type { PlantToCreate, Settlement } from './plants.ts';

/** Whether a plant was accepted. With `full` and an error it is certainly not stored. */
export type Offer = 'queued' | 'full' | StoreError;

export interface WaitingPlant extends PlantToCreate {
  /** Memory that the plant takes. */
  readonly bytes: number;
  /** Whose plant it is: the queue is shared among accounts. */
  readonly account: number;
  /**
   * Called once: when the transaction is durable or has failed, and within `commitMs`.
   *
   * @param transaction undefined if no transaction has taken the plant
   */
  settle(settlement: Settlement, transaction: Transaction | undefined): void;
}

/** Times are those of `performance.now()`. */
export interface Transaction {
  readonly plants: readonly WaitingPlant[];
  readonly startedMs: number;
}

export type CommitQueue = ReturnType<typeof createCommitQueue>;

type Settlements = readonly Settlement[] | StoreError;

interface Batch extends Transaction {
  /** Time of the first plant. */
  readonly sinceMs: number;
  /** Its plants were settled with an error, and the transaction still runs. */
  isOverdue: boolean;
}

/**
 * Group commit. While a transaction runs, the next batch gathers, so a batch grows with the load;
 * without load, a plant waits for no other plant and no timer. A transaction takes all gathered
 * plants: a plant waits for one running transaction and its own, however full the queue is.
 *
 * Clients that have just got their replies send again, and one transaction takes half the time of
 * two. So the next batch waits for them: at most half as long as the last transaction took, and
 * only while plants keep coming. A batch whose replies take longer than its transaction does not
 * wait.
 *
 * Where several transactions may run, a batch gathers for at most `gatherMs`: a fast store then
 * gets few large batches.
 *
 * The queue takes as many plants of an account, on this thread, as are still free: alone half, and
 * of a newcomer always some. A transaction that has not ended `commitMs` after its first plant is
 * settled with an error. When all concurrent transactions are overdue, the gathering batch is
 * settled, too, and plants are refused until one of them ends.
 *
 * @param bounds `batchesMax` is the number of concurrent transactions
 * @param held totals over the queues of all threads
 */
export function createCommitQueue(
  commit: (plants: readonly PlantToCreate[]) => Promise<readonly Settlement[]>,
  bounds: Readonly<Record<'queuePlantsMax' | 'commitMs' | 'batchesMax', number>>,
  held: Readonly<Record<'queuedPlants' | 'queuedBytes', SharedCounter>>,
) {
  /**
   * `idle`: the next plant begins a batch. `gathering`: the batch waits for more plants.
   * `committing`: as many transactions run as may run, and the batch waits for the end of one.
   */
  let state: 'idle' | 'gathering' | 'committing' = 'idle';
  let gathered: WaitingPlant[] = [];
  /** Time of the first plant in `gathered`. */
  let sinceMs = 0;
  let stopGathering = () => {};
  const underWay = new Set<Batch>();
  /** Number of overdue batches in `underWay`. */
  let overdue = 0;
  /** Clients that have their replies, and may send again: the next batch waits for them. */
  let returning = { plants: 0, endMs: 0, pauseMs: 0 };
  /** What this queue has of each account. */
  const shares = new Map<number, { plants: number; bytes: number }>();
  const tooLate = new StoreError(
    'unavailable',
    `the store has not stored a plant within ${intervalText(bounds.commitMs)}`,
  );

  /** Adds a plant to the next transaction. Only a `queued` plant is settled. */
  function offer(plant: WaitingPlant): Offer {
    if (overdue === bounds.batchesMax) return tooLate;
    if (!reserve(plant)) return 'full';
    if (gathered.push(plant) === 1) sinceMs = performance.now();
    if (state === 'idle') gather();
    return 'queued';
  }

  function reserve({ account, bytes }: WaitingPlant): boolean {
    const share = shares.get(account) ?? { plants: 0, bytes: 0 };
    const plantsMax = bounds.queuePlantsMax - share.plants - 1;
    if (!held.queuedPlants.add(1, plantsMax)) return false;
    if (!held.queuedBytes.add(bytes, limits.store.queueBytesMax - share.bytes - bytes)) {
      held.queuedPlants.subtract(1);
      return false;
    }
    share.plants += 1;
    share.bytes += bytes;
    shares.set(account, share);
    return true;
  }

  function free(plants: readonly WaitingPlant[]): void {
    let sum = 0;
    for (const { account, bytes } of plants) {
      sum += bytes;
      const share = shares.get(account);
      if (share === undefined) continue;
      share.plants -= 1;
      share.bytes -= bytes;
      if (share.plants === 0) shares.delete(account);
    }
    held.queuedPlants.subtract(plants.length);
    held.queuedBytes.subtract(sum);
  }

  /**
   * Commits after this turn of the event loop, or once the clients have sent again. Beside other
   * transactions, commits after `gatherMs`.
   */
  function gather(): void {
    state = 'gathering';
    if (underWay.size > 0) stopGathering = setDeadline(limits.store.gatherMs, commitGathered);
    else setImmediate(awaitClients, 0, 0);
  }

  function awaitClients(seen: number, seenAtMs: number): void {
    const nowMs = performance.now();
    const { plants, endMs, pauseMs } = returning;
    const atMs = gathered.length > seen ? nowMs : seenAtMs;
    if (gathered.length >= plants || nowMs > endMs || nowMs - atMs > pauseMs) commitGathered();
    else setImmediate(awaitClients, gathered.length, atMs);
  }

  function commitGathered(): void {
    stopGathering();
    const startedMs = performance.now();
    const batch: Batch = { plants: gathered, sinceMs, startedMs, isOverdue: false };
    gathered = [];
    underWay.add(batch);
    state = underWay.size < bounds.batchesMax ? 'idle' : 'committing';
    const cancel = setDeadline(sinceMs + bounds.commitMs - startedMs, () => giveUp(batch));
    commit(batch.plants)
      .catch((cause) =>
        cause instanceof StoreError ? cause : new StoreError('defect', `${cause}`, { cause }),
      )
      .then((settlements) => {
        cancel();
        end(batch, settlements);
      });
  }

  function end(batch: Batch, settlements: Settlements): void {
    const nowMs = performance.now();
    const tookMs = nowMs - batch.startedMs;
    const waitsForClients =
      !batch.isOverdue &&
      bounds.batchesMax === 1 &&
      tookMs > batch.plants.length * limits.store.turnMs;
    if (waitsForClients) {
      returning = {
        plants: gathered.length + batch.plants.length,
        endMs: nowMs + tookMs / 2,
        pauseMs: Math.min(tookMs / 4, limits.store.clientsPauseMs),
      };
      settle(batch.plants, settlements, batch);
    }
    underWay.delete(batch);
    state = 'idle';
    const start = waitsForClients ? gather : commitGathered;
    if (gathered.length > 0) start();
    if (batch.isOverdue) overdue -= 1;
    // The next transaction starts before the replies, so that the disk does not wait for them.
    else if (!waitsForClients) settle(batch.plants, settlements, batch);
  }

  function giveUp(batch: Batch): void {
    batch.isOverdue = true;
    overdue += 1;
    settle(batch.plants, tooLate, batch);
    // No transaction can take the gathered plants before one of the overdue ones ends.
    if (overdue === bounds.batchesMax) settle(gathered.splice(0), tooLate, undefined);
  }

  function settle(
    plants: readonly WaitingPlant[],
    settlements: Settlements,
    transaction: Transaction | undefined,
  ): void {
    free(plants);
    for (let index = 0; index < plants.length; index += 1) {
      const settlement = settlements instanceof StoreError ? settlements : settlements[index];
      plants[index]?.settle(settlement as Settlement, transaction);
    }
  }

  /** Age of the oldest plant in the queue; 0 if the queue is empty. */
  function ageMs(): number {
    for (const { sinceMs, isOverdue } of underWay)
      if (!isOverdue) return performance.now() - sinceMs;
    return gathered.length > 0 ? performance.now() - sinceMs : 0;
  }

  return { offer, ageMs };
}
