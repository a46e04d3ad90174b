import { workerData } from 'node:worker_threads';
import { measuresIn, observe, secondsBounds, writerLayout } from '../../threads/measures.ts';
import { prepareCheckpoints } from './checkpoints.ts';
import { openAgain } from './database.ts';
import { storeError } from './errors.ts';
import { sharedWritesIn } from './shared-writes.ts';
import type { CheckpointThreadOptions } from './store.ts';

/*
 * Copies the WAL into the file of the store, beside the threads that create plants. A sync of the
 * file takes long, and a disk may not return from it. The thread runs until it is terminated.
 */

const { path, memory, measures } = workerData as CheckpointThreadOptions;
const shared = sharedWritesIn(memory);
const { checkpointSeconds } = measuresIn(writerLayout, measures);

try {
  const checkpointIfDue = prepareCheckpoints(openAgain(path), shared, (ms) =>
    observe(checkpointSeconds, secondsBounds, ms / 1_000),
  );
  for (;;) {
    shared.waitForWork();
    checkpointIfDue();
  }
} catch (error) {
  shared.fail(storeError(error));
}
