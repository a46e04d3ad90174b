import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { problemNames, problems } from '../../src/contract/problems.ts';
import { startHistory } from '../../src/ops/metrics/history.ts';
import type { NodeMinute } from '../../src/store/history.ts';
import {
  count,
  httpThreadLayout,
  measuresIn,
  measuresMemory,
  observe,
  secondsBounds,
} from '../../src/threads/measures.ts';

const minuteMs = 60_000;
const startMs = Date.UTC(2026, 10, 22, 12, 0, 30);

/** A history with a clock that the test moves. @param record what the store does with a minute */
function historyOf(t: TestContext, record: (minute: NodeMinute) => Promise<void>) {
  let nowMs = startMs;
  t.mock.timers.enable({ apis: ['setInterval'] });
  t.mock.method(Date, 'now', () => nowMs);
  const thread = measuresIn(httpThreadLayout, measuresMemory(httpThreadLayout));
  const senders = new Map([['early 40004', 7]]);
  const load = { queuePlants: 0, connections: 0 };
  const sources = {
    ...{ httpThreads: [thread], writers: [] },
    queuePlants: () => load.queuePlants,
    connections: () => load.connections,
    refusedSenders: () => new Map(senders),
  };
  const history = startHistory(sources, record);
  const pass = (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      nowMs += 1_000;
      t.mock.timers.tick(1_000);
    }
  };
  return { history, thread, load, senders, pass };
}

test('a minute of the clock is written when it has ended, and the minute that has begun at the stop', async (t) => {
  const minutes: NodeMinute[] = [];
  const { history, thread, load, senders, pass } = historyOf(t, async (minute) => {
    minutes.push(minute);
  });
  count(thread.created, 3);
  observe(thread.createSeconds, secondsBounds, 0.0015);
  load.queuePlants = 7;
  pass(10);
  load.queuePlants = 2;
  load.connections = 4;
  assert.equal(minutes.length, 0);
  pass(20);
  count(thread.failed, 2);
  senders.set('early 40004', 8);
  for (let index = 1; index <= 22; index += 1) senders.set(`app-${index} 40004`, index);
  count(thread.refusals, 5, problemNames.indexOf('idTaken'));
  count(thread.refusals, 2, problemNames.indexOf('bodyMalformed'));
  count(thread.anonymousRefusals, 1, problemNames.indexOf('bodyMalformed'));
  pass(10);
  await history[Symbol.asyncDispose]();

  const [first, last, ...more] = minutes.map(({ node: _, p50Us, ...minute }) => ({
    ...minute,
    isTimed: p50Us !== undefined && p50Us > 1_000 && p50Us <= 1_500,
  }));
  const run = { startedAtMs: startMs, same: 0, taken: 0 };
  const atMs = startMs - minuteMs / 2;
  assert.deepEqual(
    { ...first, p99Us: 0 },
    {
      ...{ ...run, atMs, created: 3, failed: 0, refused: 0, p99Us: 0, isTimed: true },
      ...{ refusals: {}, refusedSenders: {}, stoppedAtMs: 0 },
      ...{ queuePlants: 7, connections: 4 },
    },
  );
  assert.deepEqual(last, {
    ...{ ...run, atMs: atMs + minuteMs, created: 0, failed: 2, refused: 5 },
    refusals: { [problems.bodyMalformed.code]: 2, [problems.idTaken.code]: 5 },
    // The 20 with the most, then the others.
    refusedSenders: {
      ...Object.fromEntries(
        Array.from({ length: 20 }, (_, index) => [`app-${22 - index} 40004`, 22 - index]),
      ),
      'all others 40004': 2 + 1 + 1,
      [` ${problems.bodyMalformed.code}`]: 1,
    },
    stoppedAtMs: startMs + 40_000,
    ...{ p99Us: undefined, isTimed: false, queuePlants: 2, connections: 4 },
  });
  assert.equal(more.length, 0);
  assert.equal(minutes[0]?.node, minutes[1]?.node);
});

test('a store that takes no minute, or never answers, is no error', async (t) => {
  const answers = [Promise.reject(new Error('away')), new Promise<void>(() => undefined)];
  const { history, pass } = historyOf(t, () => answers.shift() ?? Promise.resolve());
  pass(60);
  const stop = history[Symbol.asyncDispose]();
  // Until then, the process has nothing else to do.
  const running = setTimeout(() => undefined, 5_000);
  await stop;
  clearTimeout(running);
  assert.deepEqual(answers, []);
});
