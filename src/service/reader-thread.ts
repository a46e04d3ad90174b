import { parentPort, workerData } from 'node:worker_threads';
import { limits } from '../limits.ts';
import type { ReaderOrder, ReaderRequest } from '../ops/reader.ts';
import type { StoreLocation } from '../store/location.ts';
import { openReader } from '../stores.ts';

/*
 * Searches and counts plants for operators, so that the main thread always answers. Handles no
 * error: a thread that fails is replaced.
 */

const owner = parentPort;
if (owner === null) throw new Error('this file is the entry of a worker thread');
const store = await openReader(workerData as StoreLocation, limits.ops.readMs);

owner.on('message', async (order: ReaderOrder) => {
  if (order !== 'close') return owner.postMessage(await read(order));
  await store.close();
  owner.close();
});

function read(request: ReaderRequest): Promise<unknown> {
  switch (request.read) {
    case 'getPlant':
      return store.getPlant(...request.args);
    case 'searchPlants':
      return store.searchPlants(...request.args);
    case 'newestPlants':
      return store.newestPlants(...request.args);
    case 'countMatches':
      return store.countMatches(...request.args);
    default:
      return request satisfies never;
  }
}
