import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maySample, parseTraceparent } from '../../src/trace/trace-context.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';

test('a traceparent names the trace, the span of the client and the flags', () => {
  assert.deepEqual(parseTraceparent(`00-${traceId}-${spanId}-01`), {
    traceId,
    spanId,
    flags: '01',
  });
});

for (const [what, value] of Object.entries({
  'of a higher version': `01-${traceId}-${spanId}-01`,
  'of a higher version with more behind it': `cc-${traceId}-${spanId}-01-what-the-future-brings`,
  'with an empty part behind it, of a higher version': `fe-${traceId}-${spanId}-01-`,
}))
  test(`a traceparent ${what} is read`, () => {
    assert.deepEqual(parseTraceparent(value), { traceId, spanId, flags: '01' });
  });

for (const [what, value] of Object.entries({
  'that is missing': undefined,
  'that is empty': '',
  'of the version ff': `ff-${traceId}-${spanId}-01`,
  'with more behind the version 00': `00-${traceId}-${spanId}-01-more`,
  'with a character behind a higher version': `01-${traceId}-${spanId}-011`,
  'with the trace id 0': `00-${'0'.repeat(32)}-${spanId}-01`,
  'with the span id 0': `00-${traceId}-${'0'.repeat(16)}-01`,
  'with a trace id in upper case': `00-${traceId.toUpperCase()}-${spanId}-01`,
  'with a span id in upper case': `00-${traceId}-${spanId.toUpperCase()}-01`,
  'with a version in upper case': `0A-${traceId}-${spanId}-01`,
  'with flags in upper case': `00-${traceId}-${spanId}-0B`,
  'with a trace id that is too short': `00-${traceId.slice(1)}-${spanId}-01`,
  'with a trace id that is too long': `00-a${traceId}-${spanId}-01`,
  'with a span id that is too short': `00-${traceId}-${spanId.slice(1)}-01`,
  'with one digit of flags': `00-${traceId}-${spanId}-1`,
  'without flags': `00-${traceId}-${spanId}`,
  'with other digits': `00-${traceId.replace('4', 'g')}-${spanId}-01`,
  'with other separators': `00_${traceId}_${spanId}_01`,
  'with two values in a line': `00-${traceId}-${spanId}-01,00-${traceId}-${spanId}-01`,
}))
  test(`a traceparent ${what} is ignored`, () => {
    assert.equal(parseTraceparent(value), undefined);
  });

test('the lowest bit of the flags says whether the trace is sampled', () => {
  for (const [flags, isSampled] of [
    ['00', false],
    ['01', true],
    ['02', false],
    ['03', true],
    ['ff', true],
    ['fe', false],
    ['10', false],
  ] as const)
    assert.equal(maySample(`00-${traceId}-${spanId}-${flags}`), isSampled, flags);
  assert.equal(maySample(undefined), false);
  assert.equal(maySample('01'), false);
});
