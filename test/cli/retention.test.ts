import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { keptBackups } from '../../src/cli/backup/retention.ts';
import { retention, retentionText } from '../../src/config/values.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const nowMs = Date.parse('2026-11-23T12:30:00Z');

/** Backups every hour, as a service makes and thins them. */
function afterHours(hours: number, rules: string): number[] {
  let backups: number[] = [];
  for (let hour = hours; hour >= 0; hour -= 1) {
    const atMs = nowMs - hour * hourMs;
    const kept = keptBackups([...backups, atMs], retention(rules), atMs);
    backups = [...kept].toSorted((one, other) => one - other);
  }
  return backups;
}

test('a year of hourly backups becomes one an hour for a day, one a day for a month, one a week for a year', () => {
  const kept = afterHours(366 * 24, '24h:1h,30d:1d,1y:1w');
  const ages = kept.map((atMs) => nowMs - atMs);
  const within = (ms: number) => ages.filter((age) => age <= ms).length;
  assert.equal(within(dayMs), 25);
  assert.equal(within(30 * dayMs), 25 + 29);
  assert.equal(within(365 * dayMs), 25 + 29 + 48);
  assert.equal(kept.length, 25 + 29 + 48);
});

test('the newest backup is kept, however old it is', () => {
  assert.deepEqual([...keptBackups([1, 2], retention('24h:1h'), nowMs)], [2]);
});

test('a clock that was set back removes no backup of the future', () => {
  const [now, later] = [nowMs, nowMs + dayMs];
  assert.deepEqual([...keptBackups([now, later], retention('24h:1h'), now)].toSorted(), [
    now,
    later,
  ]);
});

test('each period of a rule keeps exactly its newest backup', () => {
  const times = fc.uniqueArray(fc.integer({ min: nowMs - 60 * dayMs, max: nowMs }), {
    minLength: 1,
  });
  const rule = fc.record({
    withinMs: fc.integer({ min: hourMs, max: 60 * dayMs }),
    everyMs: fc.integer({ min: 1_000, max: hourMs }),
  });
  fc.assert(
    fc.property(times, rule, (timesMs, { withinMs, everyMs }) => {
      const kept = keptBackups(timesMs, [{ withinMs, everyMs }], nowMs);
      const period = (timeMs: number) => Math.floor(timeMs / everyMs);
      for (const timeMs of timesMs) {
        const isRecent = nowMs - timeMs <= withinMs;
        const isNewest = timesMs.every(
          (other) => other <= timeMs || period(other) !== period(timeMs),
        );
        assert.equal(kept.has(timeMs), (isRecent && isNewest) || timeMs === Math.max(...timesMs));
      }
    }),
  );
});

test('rules are written as the flag takes them, in the largest units', () => {
  const rules = retention('24h:1h,30d:24h,365d:7d,90s:1500ms');
  assert.equal(retentionText(rules), '1d:1h,30d:1d,1y:1w,90s:1500ms');
  assert.deepEqual(retention(retentionText(rules)), rules);
});

test('rules that are no rules are refused', () => {
  for (const text of [
    '',
    '24h',
    '24h:',
    ':1h',
    '1h:24h',
    '24h:1h,',
    '24h:0h',
    '1x:1h',
    '24h:1h:1m',
  ])
    assert.throws(() => retention(text), { name: 'UsageError', message: /such as 24h:1h/ }, text);
});
