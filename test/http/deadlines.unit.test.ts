import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Deadlines } from '../../src/http/deadlines.ts';

test('a client that takes replies is not stuck, however slowly, and one that takes none is', () => {
  // The clock of the thread has run for a while.
  const deadlines = new Deadlines({ now: () => 60_000, nowMs: 60_000 }, 1_000);
  const isStuck = (nowMs: number, sentBytes: number) =>
    deadlines.isStuck(60_000 + nowMs, true, sentBytes, 3_000);
  assert.equal(isStuck(500, 0), false);
  for (let step = 1; step <= 5; step++) assert.equal(isStuck(2_000 * step, step), false);
  assert.equal(isStuck(13_000, 5), false);
  assert.equal(isStuck(13_001, 5), true);
});
