import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { limits } from '../../src/limits.ts';
import { openReaderThread } from '../../src/ops/reader.ts';

/** A thread that answers with all ids so far, but not 13, and ends at 14. */
const program = `
  const { parentPort } = require('node:worker_threads');
  const ids = [];
  parentPort.on('message', ({ id, args: [plant] }) => {
    ids.push(plant);
    if (plant === 14n) throw new Error('fourteen');
    const error = new Error('thirteen');
    parentPort.postMessage(plant === 13n ? { id, error, fields: {} } : { id, result: ids });
  });`;

function open(t: TestContext) {
  const failures: string[] = [];
  let threads = 0;
  const start = () => {
    threads += 1;
    return new Worker(program, { eval: true });
  };
  const reader = openReaderThread(start, ({ message }) => failures.push(message));
  t.after(() => reader[Symbol.asyncDispose]());
  return {
    reader,
    failures,
    threads: () => threads,
    ask: (id: bigint, signal?: AbortSignal) => reader.read('getPlant', [id], signal),
  };
}

const unavailable = { name: 'StoreError', failure: 'unavailable' };

test('there is no thread before the first read; then one thread reads in order, without the reads that were aborted', async (t) => {
  const { ask, threads } = open(t);
  assert.equal(threads(), 0);
  const gone = new AbortController();
  const reads = [ask(1n), ask(2n, gone.signal), ask(3n)] as const;
  gone.abort();
  await assert.rejects(reads[1], unavailable);
  assert.deepEqual(await reads[2], [1n, 3n]);
  assert.equal(threads(), 1);
});

test('a read that fails, or ends its thread, fails alone, and the next read has a new thread', async (t) => {
  const { ask, threads, failures } = open(t);
  const [failed, cut, next] = [ask(13n), ask(14n), ask(4n)];
  await assert.rejects(failed, { ...unavailable, message: 'thirteen' });
  await assert.rejects(cut, unavailable);
  assert.deepEqual(await next, [4n]);
  assert.deepEqual(failures, ['thirteen', 'fourteen', 'the thread that reads the store has ended']);
  assert.equal(threads(), 3);
});

test('a thread without reads ends after a while, and the next read has a new thread', async (t) => {
  const { ask, threads } = open(t);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  assert.deepEqual(await ask(1n), [1n]);
  t.mock.timers.tick(limits.ops.readerIdleMs);
  assert.deepEqual(await ask(2n), [2n]);
  assert.equal(threads(), 2);
});

test('a limited number of reads waits, and closing refuses them after the read under way', async (t) => {
  const { reader, ask } = open(t);
  const first = ask(1n);
  const waiting = Array.from({ length: limits.ops.readsMax }, () => ask(2n));
  await assert.rejects(ask(3n), { ...unavailable, message: /16 other reads of the store wait/ });

  const refused = Promise.allSettled(waiting);
  await reader[Symbol.asyncDispose]();

  assert.deepEqual(await first, [1n]);
  assert((await refused).every(({ status }) => status === 'rejected'));
  await assert.rejects(ask(4n), unavailable);
});
