import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { int64FromDigits, int64FromLiteral, int64Max, int64Min } from '../../src/contract/int64.ts';
import { anyInt64, integerLiteral, numberLiteral, runs } from './json-text.ts';

// The long form of the property tests is described in json-text.ts.

const max = 9_223_372_036_854_775_807n;
const min = -9_223_372_036_854_775_808n;

/** Literals and what they are worth; undefined is no int64. */
const literals: readonly (readonly [literal: string, value: bigint | undefined])[] = [
  ['0', 0n],
  ['-0.0', 0n],
  ['-0e5', 0n],
  ['0e-99999999999', 0n],
  ['1', 1n],
  ['1.0', 1n],
  ['1e0', 1n],
  ['1E+0', 1n],
  ['1E3', 1000n],
  ['1e0003', 1000n],
  ['1.50e1', 15n],
  ['100e-2', 1n],
  ['120e-1', 12n],
  ['0.001e3', 1n],
  ['1e18', 1_000_000_000_000_000_000n],
  ['-9e18', -9_000_000_000_000_000_000n],

  ['9007199254740991', 2n ** 53n - 1n],
  ['9007199254740993', 2n ** 53n + 1n],
  ['9007199254740993.0', 2n ** 53n + 1n],
  ['999999999999999999', 999_999_999_999_999_999n],
  ['1000000000000000001', 1_000_000_000_000_000_001n],

  ['9223372036854775806', max - 1n],
  ['9223372036854775807', max],
  ['9223372036854775807.000', max],
  ['9.223372036854775807e18', max],
  ['0.9223372036854775807e19', max],
  ['9223372036854775807e0', max],
  ['922337203685477580700e-2', max],
  ['-9223372036854775807', min + 1n],
  ['-9223372036854775808', min],
  ['-9223372036854775808.0', min],
  ['-9.223372036854775808e18', min],
  ['-92233720368547758080e-1', min],

  ['9223372036854775808', undefined],
  ['-9223372036854775809', undefined],
  ['9999999999999999999', undefined],
  ['18446744073709551616', undefined],
  ['-1e19', undefined],
  ['1e99999999999', undefined],
  ['1e-99999999999', undefined],
  [`1e-${'9'.repeat(400)}`, undefined],

  ['0.5', undefined],
  ['1.5', undefined],
  ['1e-1', undefined],
  ['9007199254740993.5', undefined],
  ['9223372036854775807.5', undefined],
];

test('a number literal has its exact value, whatever its spelling', () => {
  for (const [literal, value] of literals) assert.equal(int64FromLiteral(literal), value, literal);
});

test('every literal in that list is a JSON number', () => {
  for (const [literal] of literals) assert.equal(typeof JSON.parse(literal), 'number', literal);
});

test('what is not a JSON number has no value', () => {
  for (const text of [
    '',
    '-',
    '+1',
    '1.',
    '.5',
    '1e',
    '1e+',
    '0x10',
    '1n',
    ' 1',
    '1 ',
    '1_000',
    'NaN',
    'Infinity',
    '1\n',
    '١',
  ]) {
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
    ['007', 7n],
    ['9007199254740993', 9_007_199_254_740_993n],
    ['9223372036854775807', max],
    ['-9223372036854775808', min],
    ['9223372036854775808', undefined],
    ['-9223372036854775809', undefined],
    ['99999999999999999999', undefined],
    ['1'.repeat(100_000), undefined],
    ['', undefined],
    ['-', undefined],
    ['+1', undefined],
    ['1.0', undefined],
    ['1e3', undefined],
    ['0x10', undefined],
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

test('no integer beyond int64 has a value in any spelling', () => {
  const beyond = fc.oneof(
    fc.bigInt({ min: max + 1n, max: max * 200n }),
    fc.bigInt({ min: min * 200n, max: min - 1n }),
  );
  fc.assert(
    fc.property(beyond, fc.nat(5), fc.nat(30), (value, way, size) => {
      const literal = integerLiteral(value, way, size);
      assert.equal(int64FromLiteral(literal), undefined, literal);
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
