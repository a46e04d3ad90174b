import type { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { inodeOf } from '../../disk/files.ts';
import { answerCalls } from '../../threads/calls.ts';
import { measuresIn, record, secondsBounds, writerLayout } from '../../threads/measures.ts';
import { prepareCheckpoints } from './checkpoints.ts';
import { openAgain } from './database.ts';
import { storeError } from './errors.ts';
import { parts } from './failed-sync.ts';
import { rescue } from './rescue.ts';
import { sharedWritesIn } from './shared-writes.ts';
import { type StoreThreadOptions, storeOn } from './store.ts';
import { filesGone, openFileCheck } from './writer.ts';

/*
 * Answers the calls of the main thread, which waits for no disk, and copies the WAL into the file
 * of the store beside the threads that create plants. A disk may not return from either. The thread
 * runs until it is terminated. It saves a store whose files are gone.
 */

const owner = parentPort;
if (owner === null) throw new Error('this file is the entry of a worker thread');
const { path, lockMs, share, files } = workerData as StoreThreadOptions;
const shared = sharedWritesIn(share.memory);
const { checkpointSeconds } = measuresIn(writerLayout, share.measures);

let db: DatabaseSync | undefined;
try {
  // Else SQLite would make another store.
  if (areFilesGone()) throw filesGone(path);
  db = openAgain(path);
  const { checkStore } = openFileCheck(path, db, shared);
  const checkpointIfDue = prepareCheckpoints(db, files.store, shared, checkStore, (ms) =>
    record(checkpointSeconds, secondsBounds, ms / 1_000),
  );
  answerCalls(owner, storeOn(path, db, share, lockMs));
  for (;;) {
    await shared.work();
    if (shared.areFilesGone()) break;
    await checkpointIfDue();
  }
} catch (error) {
  if (areFilesGone()) shared.fail(filesGone(path), true);
  if (!shared.areFilesGone()) shared.failSync(storeError(error), path, parts);
}
if (shared.areFilesGone()) {
  // Waits for a commit under way. Who takes the lock later finds the failure, and answers at once.
  shared.lock.release(await shared.lock.acquire());
  owner.postMessage({ end: `${shared.failure()?.message}; ${rescue(files, db)}` });
}

function areFilesGone(): boolean {
  try {
    return inodeOf(files.path) !== files.inode;
  } catch {
    // A disk that fails has not lost the file.
    return false;
  }
}
