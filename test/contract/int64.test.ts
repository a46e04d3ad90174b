import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { int64FromDigits, int64FromLiteral, int64Max, int64Min } from '../../src/contract/int64.ts';
import { anyInt64, integerLiteral, numberLiteral, runs } from './json-text.ts';

// The long form of the property tests is described in json-text.ts.

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

test('any literal has the value that exact arithmetic gives it', () => {
  fc.assert(
    fc.property(numberLiteral(60), (literal) =>
      assert.equal(int64FromLiteral(literal), exactInt64(literal)),
    ),
    runs,
  );
});

test('any int64 has the same value in every spelling', () => {
  fc.assert(
    fc.property(anyInt64, fc.nat(5), fc.nat(30), (value, way, size) => {
      const literal = integerLiteral(value, way, size);
      assert.equal(int64FromLiteral(literal), value, literal);
    }),
    runs,
  );
});

/** The same by another way: a fraction of two integers, computed in full. */
function exactInt64(literal: string): bigint | undefined {
  const [mantissa = '', exponent = '0'] = literal.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const power = BigInt(exponent) - BigInt(fraction.length);
  const numerator = BigInt(whole + fraction) * (power > 0n ? 10n ** power : 1n);
  const denominator = power < 0n ? 10n ** -power : 1n;
  if (numerator % denominator !== 0n) return undefined;
  const value = numerator / denominator;
  return BigInt.asIntN(64, value) === value ? value : undefined;
}
