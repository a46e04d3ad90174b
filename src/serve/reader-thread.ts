import { parentPort, workerData } from 'node:worker_threads';
import { limits } from '../limits.ts';
import { engineOf } from '../store/engines.ts';
import type { StoreLocation } from '../store/location.ts';
import { answerCalls } from '../threads/calls.ts';

/* Searches and counts plants for operators, so that the main thread always answers. */

const owner = parentPort;
if (owner === null) throw new Error('this file is the entry of a worker thread');
answerCalls(owner, await engineOf(workerData as StoreLocation).openReader(limits.ops.readMs));
