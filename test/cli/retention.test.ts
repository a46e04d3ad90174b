import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { keptBackups } from '../../src/cli/backup/retention.ts';
import { type MadeAt, nextInSeries } from '../../src/cli/backup/series-time.ts';
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

/** Backups at these times of the clock, with rules that are applied after each. */
function afterBackupsAt(clockMs: readonly number[], rules: string): MadeAt[] {
  let series: MadeAt[] = [];
  for (const atMs of clockMs) {
    const { isFar, ...made } = nextInSeries(series, atMs);
    series.push(made);
    const times = series.map(({ seriesMs }) => seriesMs);
    const kept = keptBackups(times, retention(rules), made.seriesMs);
    if (!isFar) series = series.filter(({ seriesMs }) => kept.has(seriesMs));
  }
  return series;
}

const usualRules = '24h:1h,30d:1d,1y:1w';
const hourly = (hours: number, fromMs = nowMs) =>
  Array.from({ length: hours }, (_, hour) => fromMs + hour * hourMs);

/** Hours by which the clock is wrong for some hours, or for good. */
const wrongs = [2, 25, 400 * 24, 4_000 * 24, -2, -25, -400 * 24].flatMap((aheadHours) =>
  [1, 5, Infinity].map((hours) => ({ aheadHours, hours })),
);

for (const { aheadHours, hours } of wrongs)
  test(`a clock that is ${aheadHours} h ahead for ${hours} h removes no backup that a right clock keeps`, () => {
    const real = hourly(10 * 24);
    const wrongFrom = 7 * 24;
    const read = real.map((atMs, index) =>
      index >= wrongFrom && index < wrongFrom + hours ? atMs + aheadHours * hourMs : atMs,
    );
    const kept = (clock: readonly number[]) =>
      afterBackupsAt(clock, usualRules).map(({ clockMs }) => clockMs);
    for (const made of [wrongFrom + 1, wrongFrom + 2, wrongFrom + 7, real.length]) {
      const found = kept(read.slice(0, made));
      const right = kept(real.slice(0, made)).filter((atMs) => atMs < Number(real[wrongFrom]));
      const removed = right.filter((atMs) => !found.includes(atMs));
      assert.deepEqual(removed, [], `after ${made} backups`);
    }
  });

test('the times of a series grow, and follow a clock that is right', () => {
  const series = (clock: readonly number[]) =>
    afterBackupsAt(clock, '100y:1s').map(({ seriesMs }) => seriesMs);
  assert.deepEqual(series(hourly(50)), hourly(50));
  for (const stepMs of [dayMs, 7 * dayMs, 30 * dayMs]) {
    const every = Array.from({ length: 10 }, (_, index) => nowMs + index * stepMs);
    const steps = series(every).map((ms, index, all) => ms - (all[index - 1] ?? 0));
    assert.deepEqual(new Set(steps.slice(2)), new Set([stepMs]), 'a usual step counts');
  }
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 2 ** 45 })), (clock) => {
      let made: MadeAt[] = [];
      for (const atMs of clock) made = [...made, nextInSeries(made, atMs)];
      const times = made.map(({ seriesMs }) => seriesMs);
      assert.deepEqual(
        times,
        times.toSorted((one, other) => one - other),
      );
      assert.equal(new Set(times).size, times.length);
    }),
  );
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
      const newestMs = Math.max(...timesMs);
      const kept = keptBackups(timesMs, [{ withinMs, everyMs }], newestMs);
      const period = (timeMs: number) => Math.floor(timeMs / everyMs);
      for (const timeMs of timesMs) {
        const isRecent = newestMs - timeMs <= withinMs;
        const isNewest = timesMs.every(
          (other) => other <= timeMs || period(other) !== period(timeMs),
        );
        assert.equal(kept.has(timeMs), isRecent && isNewest);
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
