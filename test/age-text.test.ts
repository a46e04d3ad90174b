import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ageText, distanceText, intervalText } from '../src/age-text.ts';

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

const ages: readonly (readonly [ms: number, spelling: string])[] = [
  [0, '0 s'],
  [2 * minuteMs - 1, '119 s'],
  [2 * minuteMs, '2 min'],
  [2 * hourMs - 1, '119 min'],
  [2 * hourMs, '2 h'],
  [2 * dayMs - 1, '47 h'],
  [2 * dayMs, '2 days'],
  [7 * dayMs - 1, '6 days'],
  [1_234 * dayMs, '1,234 days'],
];

for (const [ms, spelling] of ages) {
  test(`${ms} ms are ${spelling}`, () => {
    assert.equal(ageText(ms), spelling);
  });
}

test('a time ahead and a time ago are spelled alike, the one rounded and the other without its fraction', () => {
  const nowMs = Date.UTC(2026, 10, 22);
  const at = (ms: number) => distanceText(new Date(nowMs + ms).toISOString(), nowMs);
  assert.equal(at(7 * dayMs - 1), 'in 7 days');
  assert.equal(at(dayMs - 1), 'in 24 h');
  assert.equal(at(1 - 7 * dayMs), '6 days ago');
});

test('an interval has the largest unit that is exact', () => {
  const spellings = [90 * secondMs, 90 * minuteMs, hourMs, dayMs, 7 * dayMs].map(intervalText);
  assert.deepEqual(spellings, ['90 s', '90 min', '1 h', '24 h', '7 days']);
});
