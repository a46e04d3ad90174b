import { parentPort, workerData } from 'node:worker_threads';
import { limits } from '../limits.ts';
import type { ReaderOrder } from '../ops/reader.ts';
import { engineOf } from '../store/engines.ts';
import type { StoreLocation } from '../store/location.ts';

/*
 * Searches and counts plants for operators, so that the main thread always answers. Handles no
 * error: a thread that fails is replaced.
 */

const owner = parentPort;
if (owner === null) throw new Error('this file is the entry of a worker thread');
const store = await engineOf(workerData as StoreLocation).openReader(limits.ops.readMs);

owner.on('message', async (order: ReaderOrder) => {
  if (order === 'close') {
    await store.close();
    return owner.close();
  }
  const read = store[order.read] as (...args: readonly unknown[]) => Promise<unknown>;
  owner.postMessage(await read(...order.args));
});
