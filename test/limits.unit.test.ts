import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demandFit, limits } from '../src/limits.ts';

test('limits that contradict each other are refused', () => {
  const contradicting = {
    ...limits,
    access: { ...limits.access, staleMs: limits.access.refreshMs },
  };
  assert.throws(() => demandFit(contradicting), {
    message: 'two limits contradict each other: tokens are read again before they are stale',
  });
});
