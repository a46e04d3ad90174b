import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { parseRate, rateLimiterIn, rateLimitMemory } from '../../src/access/rate-limit.ts';

/** The creates that a token may send at once. */
function taken(limiter: ReturnType<typeof rateLimiterIn>, id: number, text: string, burst: number) {
  const rate = { ...(parseRate(text) ?? assert.fail(text)), burst };
  let creates = 0;
  while (limiter.take(id, rate) === 0) creates += 1;
  return creates;
}

test('a bucket has the burst at once, and then as many creates as the rate', () => {
  const limiter = rateLimiterIn(rateLimitMemory());
  assert.equal(taken(limiter, 1, '1/h', 7), 7);
  assert.equal(taken(limiter, 2, '1/h', 1), 1, 'another token has a bucket of its own');
  const waitMs = limiter.take(1, { perDay: 24, burst: 7 });
  assert(waitMs > 3_590_000 && waitMs <= 3_600_000, `${waitMs}`);
  assert.equal(limiter.take(1, { perDay: 24, burst: 8 }), 0, 'a larger burst counts at once');
  assert(limiter.take(1, { perDay: 24, burst: 7 }) > 3_600_000);
});

test('a bucket fills again at its rate', () => {
  const limiter = rateLimiterIn(rateLimitMemory());
  // A create each millisecond, and a bucket that no pause of this thread fills.
  const takeAll = () => taken(limiter, 1, '1000/s', 100_000);
  const startedMs = performance.now();
  takeAll();
  const emptyMs = performance.now();
  while (performance.now() - emptyMs < 200);
  const leastMs = performance.now() - emptyMs;
  const creates = takeAll();
  const mostMs = performance.now() - startedMs;
  assert(creates >= leastMs - 1 && creates <= mostMs + 1, `${creates} in ${leastMs} to ${mostMs}`);
});

test('threads share the buckets, and none is counted twice', async () => {
  const memory = rateLimitMemory();
  const source = `
    const { parentPort, workerData } = require('node:worker_threads');
    import(workerData.module).then(({ rateLimiterIn }) => {
      const limiter = rateLimiterIn(workerData.memory);
      parentPort.on('message', () => {
        let creates = 0;
        while (limiter.take(5, { perDay: 1, burst: 100_000 }) === 0) creates += 1;
        parentPort.postMessage(creates);
        parentPort.close();
      });
      parentPort.postMessage('ready');
    });`;
  const module = new URL('../../src/access/rate-limit.ts', import.meta.url).href;
  const workers = Array.from(
    { length: 3 },
    () => new Worker(source, { eval: true, workerData: { memory, module } }),
  );
  await Promise.all(workers.map((worker) => once(worker, 'message')));
  const counts = workers.map((worker) => once(worker, 'message'));
  for (const worker of workers) worker.postMessage('go');
  const creates = (await Promise.all(counts)).map(([count]) => count as number);
  assert.equal(
    creates.reduce((sum, count) => sum + count),
    100_000,
  );
});

test('more tokens than there are slots are still served, and no bucket is lost that is in use', () => {
  const limiter = rateLimiterIn(rateLimitMemory());
  const rate = { perDay: 1, burst: 1 };
  assert.equal(limiter.take(1, rate), 0);
  for (let id = 2; id < 10_000; id += 1) assert.equal(limiter.take(id, rate), 0, `${id}`);
  assert(limiter.take(1, rate) > 0);
  for (let id = 10_000; id < 100_000; id += 1) assert.equal(limiter.take(id, rate), 0, `${id}`);
});
