import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { limits } from '../../src/limits.ts';
import { missingPlants } from '../../src/ops/metrics/plant-count.ts';
import { startSamples } from '../../src/ops/metrics/samples.ts';

const startMs = Date.UTC(2026, 10, 22, 12);

/** Samples of an idle service, with a clock that the test moves. */
function samplesOfQuietService(t: TestContext) {
  let nowMs = startMs;
  t.mock.timers.enable({ apis: ['setInterval'] });
  t.mock.method(Date, 'now', () => nowMs);
  const samples = startSamples({
    httpThreads: [],
    queuePlants: () => 0,
    connections: () => 0,
  });
  t.after(() => samples[Symbol.dispose]());
  return {
    times: (afterMs: number) => samples.after(afterMs).map(({ atMs }) => (atMs - startMs) / 1_000),
    pass(seconds: number) {
      for (let second = 0; second < seconds; second += 1) {
        nowMs += limits.ops.samplesEveryMs;
        t.mock.timers.tick(limits.ops.samplesEveryMs);
      }
    },
    setClock(ms: number) {
      nowMs = ms;
    },
  };
}

test('a request gets the samples after the last one that it names, and only the last samples are kept', (t) => {
  const { times, pass } = samplesOfQuietService(t);
  pass(3);
  assert.deepEqual(times(0), [1, 2, 3]);
  assert.deepEqual(times(startMs + 2_000), [3]);
  assert.deepEqual(times(startMs + 3_000), []);
  pass(limits.ops.samplesKept);
  assert.equal(times(0).length, limits.ops.samplesKept);
});

test('when the clock is set back, samples go on, and samples of the future are dropped', (t) => {
  const { times, pass, setClock } = samplesOfQuietService(t);
  pass(5);
  setClock(startMs + 1_500);
  pass(1);
  assert.deepEqual(times(startMs + 5_000), [1, 2, 2.5]);
  assert.deepEqual(times(startMs + 2_500), []);
});

test('a backup lacks the plants of the last count, and those that were created since the count', () => {
  assert.equal(missingPlants({ plants: 100 }, 130), 30);
  assert.equal(missingPlants({ plants: 130 }, 130), 0);
});

test('it is not known what a backup lacks before the first count, and if the backup has more plants', () => {
  assert.equal(missingPlants({ plants: 0 }, undefined), undefined);
  assert.equal(missingPlants({ plants: 131 }, 130), undefined);
});
