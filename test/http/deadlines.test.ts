import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Deadlines } from '../../src/http/deadlines.ts';

test('a client that takes replies is not stuck, however slowly, and one that takes none is', () => {
  const deadlines = new Deadlines({ now: () => 0, nowMs: 0 }, 1_000);
  const isStuck = (nowMs: number, takenBytes: number) =>
    deadlines.isStuck(nowMs, true, takenBytes, 3_000);
  for (let step = 1; step <= 5; step++) assert.equal(isStuck(2_000 * step, step), false);
  assert.equal(isStuck(13_000, 5), false);
  assert.equal(isStuck(13_001, 5), true);
});
