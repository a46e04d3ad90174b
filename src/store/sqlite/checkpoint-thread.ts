import { parentPort, workerData } from 'node:worker_threads';
import { measuresIn, observe, secondsBounds, writerLayout } from '../../threads/measures.ts';
import { prepareCheckpoints } from './checkpoints.ts';
import { openAgain } from './database.ts';
import { storeError } from './errors.ts';
import { prepareRescue } from './rescue.ts';
import { sharedWritesIn } from './shared-writes.ts';
import type { CheckpointThreadOptions } from './store.ts';
import { watchFiles } from './writer.ts';

/*
 * Copies the WAL into the file of the store, beside the threads that create plants. A sync of the
 * file takes long, and a disk may not return from it. The thread runs until it is terminated, or
 * until it has saved a store whose files are gone.
 */

const { path, memory, measures } = workerData as CheckpointThreadOptions;
const shared = sharedWritesIn(memory);
const { checkpointSeconds } = measuresIn(writerLayout, measures);

try {
  const db = openAgain(path);
  const rescue = prepareRescue(db);
  const { faultOfStore } = watchFiles(path, db, shared);
  const checkpointIfDue = prepareCheckpoints(db, shared, faultOfStore, (ms) =>
    observe(checkpointSeconds, secondsBounds, ms / 1_000),
  );
  for (;;) {
    shared.waitForWork();
    if (shared.areFilesGone()) break;
    checkpointIfDue();
  }
  // Waits for a commit under way. Who takes the lock later finds the failure, and answers at once.
  shared.lock.release(shared.lock.acquireBlocking());
  parentPort?.postMessage(`${shared.failure()?.message}; ${rescue()}`);
} catch (error) {
  shared.fail(storeError(error));
}
