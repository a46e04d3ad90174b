import { EventEmitter, once } from 'node:events';
import { createCommitQueue } from '../../src/store/commit-queue.ts';
import type { Settlement } from '../../src/store/plants.ts';
import type { Store } from '../../src/store/store.ts';
import { sharedCounter } from '../../src/threads/shared-counter.ts';

/** A queue on a real store, and the sizes of the transactions so far. */
export function queueOn(
  store: Store,
  bounds: { queuePlantsMax?: number; commitMs?: number; batchesMax?: number } = {},
) {
  const batches: number[] = [];
  const events = new EventEmitter();
  const queue = createCommitQueue(
    (plants) => {
      batches.push(plants.length);
      events.emit('batch');
      return store.createPlants(plants);
    },
    { queuePlantsMax: 100, commitMs: 10_000, batchesMax: store.batchesMax, ...bounds },
    { queuedPlants: sharedCounter(), queuedBytes: sharedCounter() },
  );
  const offer = (id: bigint, bytes = 50, onSettled = () => {}, account = 0) => {
    const settled = Promise.withResolvers<Settlement>();
    const answer = queue.offer({
      id,
      name: `plant ${id}`,
      tag: undefined,
      createdBy: 0,
      account,
      bytes,
      settle(settlement) {
        settled.resolve(settlement);
        onSettled();
      },
    });
    return { answer, settled: settled.promise };
  };
  return { batches, offer, nextBatch: () => once(events, 'batch') };
}
