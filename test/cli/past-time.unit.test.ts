import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pastTime, timeBefore, UsageError } from '../../src/cli/flags/values.ts';

const nowMs = Date.parse('2026-11-24T12:00Z');
const timeOf = (text: string) => new Date(timeBefore(pastTime(text), nowMs)).toISOString();

test('a time is a time span before now, or a date and time with or without a zone', () => {
  const expected = {
    '1h': '2026-11-24T11:00:00.000Z',
    '7d': '2026-11-17T12:00:00.000Z',
    '2026-11-24T02:00Z': '2026-11-24T02:00:00.000Z',
    '2026-11-24T02:00:30.5+01:00': '2026-11-24T01:00:30.500Z',
    '2026-11-24T02:00': new Date(2026, 10, 24, 2).toISOString(),
    '2026-02-28': new Date(2026, 1, 28).toISOString(),
  };
  for (const [text, time] of Object.entries(expected)) assert.equal(timeOf(text), time, text);
});

test('a text that is no time, and a day that no calendar has, are refused with the forms of a time', () => {
  const times =
    '1 tomorrow today 2026-02-30 2026-13-01 2026-11-24T25:00 24.11.2026 2026-11-24Z 08:44';
  for (const text of ['', ...times.split(' ')])
    assert.throws(
      () => pastTime(text),
      (error: unknown) => error instanceof UsageError && /such as 1h or 7d/.test(error.message),
      text,
    );
});
