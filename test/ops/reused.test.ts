import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reused } from '../../src/ops/reused.ts';

test('calls share the load under way and its result, without a time for ever', async () => {
  let loads = 0;
  const get = reused(async () => ++loads);
  assert.deepEqual(await Promise.all([get(), get()]), [1, 1]);
  assert.equal(await get(), 1);
});

test('a result is loaded again after its time, and not before', async () => {
  let loads = 0;
  const first = Promise.withResolvers<void>();
  const get = reused(
    async () => {
      loads += 1;
      await first.promise;
      return loads;
    },
    { forMs: 0 },
  );
  const [one, other] = [get(), get()];
  first.resolve();
  assert.deepEqual(await Promise.all([one, other]), [1, 1], 'the time begins at the end');
  assert.equal(await get(), 2);
});

test('a failure is shared, and kept for a time of its own', async () => {
  let loads = 0;
  const load = () => Promise.reject(new Error(`load ${++loads}`));
  const get = reused(load);
  await Promise.all([assert.rejects(get(), /load 1/), assert.rejects(get(), /load 1/)]);
  await assert.rejects(get(), /load 2/);

  const getSlowly = reused(load, { failureMs: Number.POSITIVE_INFINITY });
  await assert.rejects(getSlowly(), /load 3/);
  await assert.rejects(getSlowly(), /load 3/);
});
