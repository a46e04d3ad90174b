import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { nextInSeries, unkept } from '../../src/backup/series.ts';
import { retention, retentionText } from '../../src/cli/flags/values.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const startMs = Date.parse('2026-11-23T12:30:00Z');
const usualRules = '24h:1h,30d:1d,1y:1w';

type MadeAt = Pick<ReturnType<typeof nextInSeries>, 'clockMs' | 'seriesMs'>;

/** The series that is left of backups at these times of the clock, with rules after each. */
function afterBackupsAt(clock: readonly number[], rules: string): MadeAt[] {
  const parsed = retention(rules);
  assert.equal(retentionText(parsed), rules);
  let series: MadeAt[] = [];
  for (const clockMs of clock) {
    const { isFar, ...made } = nextInSeries(series, clockMs);
    series = [...series, made];
    const gone = isFar ? [] : unkept(series, parsed);
    series = series.filter((backup) => !gone.includes(backup));
  }
  return series;
}

const everyHour = (hours: number) => Array.from({ length: hours }, (_, n) => startMs + n * hourMs);

test('a year of hourly backups becomes one an hour for a day, one a day for a month, one a week for a year', () => {
  const clock = everyHour(366 * 24);
  const kept = afterBackupsAt(clock, usualRules);
  const within = (ms: number) =>
    kept.filter(({ seriesMs }) => Number(clock.at(-1)) - seriesMs <= ms).length;
  assert.deepEqual([within(dayMs), within(30 * dayMs), kept.length], [25, 25 + 29, 25 + 29 + 48]);
});

/** Hours by which the clock is wrong for some hours, or for good. */
const wrongs = [2, 25, 400 * 24, 4_000 * 24, -2, -25, -400 * 24].flatMap((aheadHours) =>
  [1, 5, Infinity].map((hours) => ({ aheadHours, hours })),
);

test('a clock that is wrong for a while, or for good, removes no backup that a right clock keeps', () => {
  const real = everyHour(10 * 24);
  const wrongFrom = 7 * 24;
  const kept = (clock: readonly number[]) =>
    new Set(afterBackupsAt(clock, usualRules).map(({ clockMs }) => clockMs));
  for (const { aheadHours, hours } of wrongs) {
    const read = real.map((atMs, index) =>
      index >= wrongFrom && index < wrongFrom + hours ? atMs + aheadHours * hourMs : atMs,
    );
    for (const made of [wrongFrom + 1, wrongFrom + 2, wrongFrom + 7, real.length]) {
      const found = kept(read.slice(0, made));
      const right = [...kept(real.slice(0, made))].filter((atMs) => atMs < Number(real[wrongFrom]));
      const lost = right.filter((atMs) => !found.has(atMs));
      assert.deepEqual(lost, [], `${aheadHours} h ahead for ${hours} h, after ${made} backups`);
    }
  }
});

test('the times of a series only grow, whatever the clock says', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 2 ** 45 })), (clock) => {
      let made: MadeAt[] = [];
      for (const atMs of clock) made = [...made, nextInSeries(made, atMs)];
      for (const [index, { seriesMs }] of made.entries())
        assert(index === 0 || seriesMs > Number(made[index - 1]?.seriesMs));
    }),
  );
});

test('each period of a rule keeps exactly its newest backup', () => {
  const times = fc.uniqueArray(fc.integer({ min: startMs - 60 * dayMs, max: startMs }), {
    minLength: 1,
  });
  const rule = fc.record({
    withinMs: fc.integer({ min: hourMs, max: 60 * dayMs }),
    everyMs: fc.integer({ min: 1_000, max: hourMs }),
  });
  fc.assert(
    fc.property(times, rule, (all, { withinMs, everyMs }) => {
      const series = all.sort((a, b) => a - b).map((ms) => ({ clockMs: ms, seriesMs: ms }));
      const gone = new Set(unkept(series, [{ withinMs, everyMs, text: '' }]));
      const periodOf = (ms: number) => Math.floor(ms / everyMs);
      for (const [index, backup] of series.entries()) {
        const isRecent = Number(all.at(-1)) - backup.seriesMs <= withinMs;
        const isNewest = periodOf(Number(all[index + 1])) !== periodOf(backup.seriesMs);
        assert.equal(gone.has(backup), !(isRecent && isNewest));
      }
    }),
  );
});
