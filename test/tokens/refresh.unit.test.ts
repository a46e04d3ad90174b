import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openRefresh } from '../../src/tokens/refresh.ts';

test('a request waits for one read, also while failed reads are tried again more often', async () => {
  let reads = 0;
  using refresh = openRefresh({
    read: async () => {
      reads += 1;
      throw new Error('away');
    },
    ...{ everyMs: 1_000, retryMs: 10, staleMs: 1_000 },
    againMs: 100,
    onError: () => undefined,
  });
  assert.equal(await refresh.again(), false);
  const before = reads;
  const answers = await Promise.all([refresh.again(), refresh.again()]);
  assert.deepEqual(answers, [false, false]);
  assert.equal(reads, before + 1, 'the next read is good enough for both');
});

test('a read that takes longer than its interval is followed by the next, without a word of Node', async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => void warnings.push(warning);
  process.on('warning', note);
  const reads = Promise.withResolvers<void>();
  let count = 0;
  using refresh = openRefresh({
    async read() {
      const beganMs = performance.now();
      while (performance.now() - beganMs < 5);
      if ((count += 1) === 3) reads.resolve();
    },
    ...{ everyMs: 1, retryMs: 1, staleMs: 1, againMs: 0, onError: assert.ifError },
  });
  await refresh.readFirst();
  await reads.promise;
  process.off('warning', note);
  assert.deepEqual(warnings, []);
});

test('requests at one time share one read, and reads for requests keep their distance', async () => {
  const againMs = 100;
  const readsMs: number[] = [];
  using refresh = openRefresh({
    read: async () => {
      readsMs.push(performance.now());
    },
    ...{ everyMs: 3_600_000, retryMs: 3_600_000, staleMs: 3_600_000 },
    againMs,
    onError: assert.ifError,
  });
  assert.equal(await refresh.again(), true);
  for (const readsBefore of [1, 2, 3]) {
    const answers = await Promise.all(Array.from({ length: 100 }, () => refresh.again()));
    assert(answers.every((isRead) => isRead));
    assert.equal(readsMs.length, readsBefore + 1);
  }
  const pausesMs = readsMs.slice(1).map((ms, index) => ms - (readsMs[index] as number));
  assert(Math.min(...pausesMs) >= againMs - 1, `${pausesMs}`);
});
