import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHealth } from '../../src/ops/health/health.ts';
import { watchStore } from '../../src/telemetry/store-watch.ts';

test('readiness tells the state of the store after the disk has answered', async () => {
  const disk = Promise.withResolvers<undefined>();
  let failures: { count: number; reason: string } | undefined;
  const health = createHealth({
    heartbeat: { ageMs: () => 0, failures: () => failures },
    recentCreates: () => ({ created: 0, failed: 0, unavailable: 0 }),
    space: () => disk.promise,
    threads: [],
    queuePlants: () => 0,
    queuePlantsMax: 1,
    phase: () => 'open',
    durability: () => undefined,
    loss: undefined,
    weakerSinceMs: () => undefined,
  });
  const checked = health.check();
  failures = { count: 10, reason: 'away' };
  disk.resolve(undefined);
  assert.equal((await checked).ready, false);
});

test('an outage has a line when it begins, one a minute, and one when it is over', async () => {
  let nowMs = 0;
  const lines: string[] = [];
  const note = (_fields: object, message: string) => void lines.push(message);
  const watch = watchStore(
    { debug: note, info: note, warn: note, error: note, fatal: note },
    () => nowMs,
  );
  let isAway = true;
  const store = {
    beat: async () => (isAway ? Promise.reject(new Error('away')) : undefined),
    durability: () => undefined,
  };
  for (let second = 0; second < 130; second += 1) {
    await watch.beat(store).catch(() => undefined);
    watch.failed({ reason: 'gone', sinceMs: nowMs, untilMs: nowMs, refused: 3 });
    nowMs += 1_000;
  }
  isAway = false;
  for (const refused of [0, 1]) {
    if (refused) watch.failed({ reason: 'gone', sinceMs: nowMs, untilMs: nowMs, refused });
    for (let beat = 0; beat < 3; beat += 1) {
      await watch.beat(store);
      nowMs += 2_000;
    }
  }
  assert.deepEqual(lines, [
    'clients get 503 with code 50301: away; a retry is safe',
    'clients have got 503 with code 50301 for 60 s: away',
    'clients have got 503 with code 50301 for 2 min: away',
    'creates are stored again after 129.0 s; requests refused: 390',
    'clients get 503 with code 50301: gone; a retry is safe',
    'creates are stored again after 0.1 s; requests refused: 1',
  ]);
});
