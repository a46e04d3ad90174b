import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHealth } from '../../src/ops/health/health.ts';

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
  });
  const checked = health.check();
  failures = { count: 10, reason: 'away' };
  disk.resolve(undefined);
  assert.equal((await checked).ready, false);
});
