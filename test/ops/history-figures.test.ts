import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Minute } from '../../src/ops/contract.ts';
import { growthIn, growthText, refusalsOfSender } from '../../src/ops/history-figures.ts';

const GiB = 1024 ** 3;
const minutes = [3_000, 0, 7_000].map((created) => ({ created }) as Minute);
const places = { location: '', wholeLocation: '', shellLocation: '', promise: null };
const counted = { ...places, plants: 100_000, countedAt: '2026-11-24T12:00:00Z' };
const textOf = (store: Parameters<typeof growthIn>[1]) => {
  const growth = growthIn(minutes, store);
  return growth && growthText(growth);
};

test('the growth of 24 hours is told by the mean size of a plant, and how long the disk has room', () => {
  const sized = { ...counted, plantsBytes: 10 * GiB };
  assert.equal(textOf(sized), '1 GiB a day');
  const cases = {
    'is full in less than 67 days': 66.3,
    'is full in less than 2 days': 1.5,
    'is full in less than a day': 0.2,
    'has room for more than 10 years': 3_651,
  };
  for (const [says, free] of Object.entries(cases))
    assert.equal(textOf({ ...sized, freeBytes: free * GiB }), `1 GiB a day; the disk ${says}`);
});

test('no growth is told without a new plant, before the first count, and of a store that is small', () => {
  const sized = { ...counted, plantsBytes: GiB, freeBytes: GiB };
  assert.equal(growthIn([], sized), undefined);
  assert.equal(textOf({ ...sized, plants: null, countedAt: null }), undefined);
  assert.equal(textOf({ ...sized, plants: 9_999 }), undefined);
  assert.equal(textOf(counted), undefined);
});

test('the refusals of a sender are told by code with their first minute, the code with the most first', () => {
  const of = (atMs: number, senderRefusals: Minute['senderRefusals']) =>
    ({ atMs, senderRefusals }) as Minute;
  const refused = [
    of(0, { kiosk: { 40000: 9 } }),
    of(1, { florist: { 40000: 1 }, kiosk: { 40000: 9 } }),
    of(2, {}),
    of(3, { florist: { 40000: 1, 40004: 5 } }),
  ];
  assert.deepEqual(refusalsOfSender(refused, 'florist'), [
    { code: 40004, count: 5, firstMs: 3 },
    { code: 40000, count: 2, firstMs: 1 },
  ]);
  assert.deepEqual(refusalsOfSender(refused, 'constructor'), []);
});
