import assert from 'node:assert/strict';
import { test } from 'node:test';
import { int64FromDigits, int64FromLiteral, int64Max, int64Min } from '../../src/contract/int64.ts';

const max = 9_223_372_036_854_775_807n;
const min = -9_223_372_036_854_775_808n;

test('what is not a JSON number has no value', () => {
  for (const text of ['', '+1', '1e+', '0x10', ' 1', 'NaN', '١']) {
    assert.equal(int64FromLiteral(text), undefined, JSON.stringify(text));
  }
});

test('the bounds are those of int64', () => {
  assert.equal(int64Max, max);
  assert.equal(int64Min, min);
});

test('an argument is an integer in plain digits', () => {
  const digits: readonly (readonly [text: string, value: bigint | undefined])[] = [
    ['0', 0n],
    ['-0', 0n],
    ['9007199254740993', 9_007_199_254_740_993n],
    ['9223372036854775807', max],
    ['-9223372036854775808', min],
    ['9223372036854775808', undefined],
    ['1'.repeat(100_000), undefined],
    ['', undefined],
    ['-', undefined],
    ['1.0', undefined],
    [' 1', undefined],
    ['1\n', undefined],
    ['١', undefined],
  ];
  for (const [text, value] of digits)
    assert.equal(int64FromDigits(text), value, JSON.stringify(text.slice(0, 30)));
});
