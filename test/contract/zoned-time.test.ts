import assert from 'node:assert/strict';
import { test } from 'node:test';
import { zonedTime } from '../../src/contract/zoned-time.ts';

test('a time with its zone is a number of milliseconds', () => {
  assert.equal(zonedTime('1970-01-01T00:00:01.5Z'), 1_500);
  assert.equal(zonedTime('1970-01-01T01:00+01:00'), 0);
});

test('a text without a zone, or without a time, is no time', () => {
  for (const text of ['', 'garbage', '1970-01-01', '1970-01-01T00:00', '1970-13-01T00:00Z'])
    assert(Number.isNaN(zonedTime(text)), text);
});
