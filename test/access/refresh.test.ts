import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openRefresh } from '../../src/access/refresh.ts';

test('a request waits for one read, also while failed reads are tried again more often', async () => {
  let reads = 0;
  using refresh = openRefresh({
    read: async () => {
      reads += 1;
      throw new Error('away');
    },
    ...{ everyMs: 1_000, retryMs: 10, staleMs: 1_000 },
    againMs: () => 100,
    onError: () => undefined,
  });
  assert.equal(await refresh.again(), false);
  const before = reads;
  const answers = await Promise.all([refresh.again(), refresh.again()]);
  assert.deepEqual(answers, [false, false]);
  assert.equal(reads, before + 1, 'the next read is good enough for both');
});

test('a request that waits is answered when the reads end', async () => {
  const refresh = openRefresh({
    read: async () => undefined,
    ...{ everyMs: 60_000, retryMs: 60_000, staleMs: 60_000 },
    againMs: () => 60_000,
    onError: () => undefined,
  });
  assert.equal(await refresh.again(), true);
  const waiting = refresh.again();
  refresh[Symbol.dispose]();
  await waiting;
});
