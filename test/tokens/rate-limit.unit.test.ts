import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rate, UsageError } from '../../src/cli/flags/values.ts';
import { rateText, typedRate } from '../../src/quantity-text.ts';
import { rateLimiterIn, rateLimitMemory } from '../../src/tokens/rate-limit.ts';

/** The creates that a token may send at once. */
function taken(limiter: ReturnType<typeof rateLimiterIn>, id: number, text: string) {
  const typed = rate(text);
  let creates = 0;
  while (limiter.tryTake(id, typed) === 0) creates += 1;
  return creates;
}

test('a bucket fills again at its rate', () => {
  const limiter = rateLimiterIn(rateLimitMemory());
  // A create each millisecond, and a bucket that no pause of this thread fills.
  const takeAll = () => taken(limiter, 1, '1000/s:100000');
  const startedMs = performance.now();
  takeAll();
  const emptyMs = performance.now();
  while (performance.now() - emptyMs < 200);
  const leastMs = performance.now() - emptyMs;
  const creates = takeAll();
  const mostMs = performance.now() - startedMs;
  assert(creates >= leastMs - 1 && creates <= mostMs + 1, `${creates} in ${leastMs} to ${mostMs}`);
});

test('a new token has one bucket, wherever within its first create another thread takes some', (t) => {
  const load: (...args: never[]) => never = Atomics.load as never;
  const look = t.mock.method(Atomics, 'load');
  let isBeside = true;
  for (let step = 0; isBeside; step += 1) {
    const memory = rateLimitMemory();
    const [limiter, beside] = [rateLimiterIn(memory), rateLimiterIn(memory)];
    const creates: number[] = [];
    isBeside = false;
    look.mock.resetCalls();
    look.mock.mockImplementation((...args: never[]) => {
      if (!isBeside && look.mock.callCount() >= step) {
        isBeside = true;
        creates.push(taken(beside, 1, '1/d:3'));
      }
      return load(...args);
    });
    creates.push(limiter.tryTake(1, rate('1/d:3')) === 0 ? 1 : 0);
    creates.push(taken(limiter, 1, '1/d:3'));
    assert.equal(
      creates.reduce((sum, some) => sum + some),
      3,
      `at load ${step}`,
    );
  }
});

test('more tokens than there are slots are still served, and no bucket is lost that is in use', () => {
  const limiter = rateLimiterIn(rateLimitMemory());
  const rate = { perDay: 1, burst: 1 };
  assert.equal(limiter.tryTake(1, rate), 0);
  for (let id = 2; id < 10_000; id += 1) assert.equal(limiter.tryTake(id, rate), 0, `${id}`);
  assert(limiter.tryTake(1, rate) > 0);
  for (let id = 10_000; id < 100_000; id += 1) assert.equal(limiter.tryTake(id, rate), 0, `${id}`);
});

test('a rate is printed in the shortest form that can be typed again', () => {
  const typed = '100/s 60/m 1000/h 10/d 100/s:500 100/s:1 99999999/d:100000000'.split(' ');
  const shorter = { '100/s:100': '100/s', '60/m:500': '1/s:500', '1/s:60': '60/m' };
  const expected = { ...Object.fromEntries(typed.map((text) => [text, text])), ...shorter };
  for (const [text, printed] of Object.entries(expected)) {
    const parsed = rate(text);
    assert.equal(typedRate(rateText(parsed), parsed.burst), printed);
    assert.deepEqual(rate(printed), parsed);
  }
});

test('a burst is a whole number from 1 to 100,000,000', () => {
  for (const burst of ['', '0', '-1', '1.5', '1e3', '05', '100000001', '5:5', '5/s'])
    assert.throws(() => rate(`100/s:${burst}`), UsageError, burst);
});
