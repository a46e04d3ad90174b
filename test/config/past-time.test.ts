import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pastTime, timeBefore, UsageError } from '../../src/config/values.ts';

const nowMs = Date.parse('2026-11-24T12:00Z');
const timeOf = (text: string) => new Date(timeBefore(pastTime(text), nowMs)).toISOString();

test('a time is a time span before now, or a date and time with or without a zone', () => {
  const expected = {
    '1h': '2026-11-24T11:00:00.000Z',
    '7d': '2026-11-17T12:00:00.000Z',
    '2026-11-24T02:00Z': '2026-11-24T02:00:00.000Z',
    '2026-11-24T02:00:30.5+01:00': '2026-11-24T01:00:30.500Z',
    '2026-11-24 02:00-03:30': '2026-11-24T05:30:00.000Z',
    '2026-11-24T02:00': new Date(2026, 10, 24, 2).toISOString(),
    '2026-02-28': new Date(2026, 1, 28).toISOString(),
    '12:00Z': '2026-11-24T12:00:00.000Z',
    '02:30:15Z': '2026-11-24T02:30:15.000Z',
    '12:01Z': '2026-11-23T12:01:00.000Z',
  };
  for (const [text, time] of Object.entries(expected)) assert.equal(timeOf(text), time, text);
});

test('a time of day without a zone is local, of today or else of yesterday', () => {
  const noonMs = new Date(2026, 10, 24, 12).getTime();
  const at = (text: string) => timeBefore(pastTime(text), noonMs);
  assert.equal(at('08:44'), new Date(2026, 10, 24, 8, 44).getTime());
  assert.equal(at('12:00:00'), noonMs);
  assert.equal(at('12:00:01'), new Date(2026, 10, 23, 12, 0, 1).getTime());
});

test('today and yesterday are local days from their first moment on', () => {
  const at = (text: string, now: Date) => timeBefore(pastTime(text), now.getTime());
  const noon = new Date(2026, 10, 1, 12);
  assert.equal(at('today', noon), new Date(2026, 10, 1).getTime());
  assert.equal(at('yesterday', noon), new Date(2026, 9, 31).getTime());
  assert.equal(at('today', new Date(2026, 10, 1)), new Date(2026, 10, 1).getTime());
});

test('a text that is no time, and a day that no calendar has, are refused with the forms of a time', () => {
  for (const text of [
    '',
    '1',
    'tomorrow',
    'Yesterday',
    '2026-02-30',
    '2026-13-01',
    '2026-11-24T25:00',
    '24.11.2026',
    '24:00',
    '8:44',
    '08:60',
    '08:44+01:00',
    '2026-11-24Z',
  ])
    assert.throws(
      () => pastTime(text),
      (error: unknown) => error instanceof UsageError && /such as 1h or 7d/.test(error.message),
      text,
    );
});
