import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRate, rateLimiterIn, rateLimitMemory } from '../../src/access/rate-limit.ts';

/** The creates that a token may send at once. */
function taken(limiter: ReturnType<typeof rateLimiterIn>, id: number, text: string, burst: number) {
  const rate = { ...(parseRate(text) ?? assert.fail(text)), burst };
  let creates = 0;
  while (limiter.take(id, rate) === 0) creates += 1;
  return creates;
}

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

test('more tokens than there are slots are still served, and no bucket is lost that is in use', () => {
  const limiter = rateLimiterIn(rateLimitMemory());
  const rate = { perDay: 1, burst: 1 };
  assert.equal(limiter.take(1, rate), 0);
  for (let id = 2; id < 10_000; id += 1) assert.equal(limiter.take(id, rate), 0, `${id}`);
  assert(limiter.take(1, rate) > 0);
  for (let id = 10_000; id < 100_000; id += 1) assert.equal(limiter.take(id, rate), 0, `${id}`);
});
