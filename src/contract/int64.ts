export const int64Min = -(2n ** 63n);
export const int64Max = 2n ** 63n - 1n;

const int64Digits = 19;

const plainInteger = /^-?[0-9]+$/;
const numberParts = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

/**
 * The exact value of a JSON number literal, or undefined if the value is not an int64. `1.0` and
 * `1e3` are integers (JSON Schema 2020-12, validation, §6.1.1), and `-0` is 0.
 *
 * Computes nothing in floating point. The work is bounded by the length of the literal, not by its
 * exponent.
 */
export function int64FromLiteral(literal: string): bigint | undefined {
  // The usual spelling, in half the time with 19 digits.
  const plain = int64FromDigits(literal);
  if (plain !== undefined) return plain;

  const parts = numberParts.exec(literal);
  if (parts === null) return undefined;
  const [, sign, whole = '', fraction = '', exponent = '0'] = parts;
  const significand = `${whole}${fraction}`.replace(/^0+/, '');
  if (significand === '') return 0n;

  const digits = withoutTrailingZeros(significand);
  // An exponent that no double holds becomes infinite, which is out of range, too.
  const zeros = Number(exponent) - fraction.length + (significand.length - digits.length);
  if (zeros < 0 || digits.length + zeros > int64Digits) return undefined;
  return inRange(BigInt(`${sign}${digits}${'0'.repeat(zeros)}`));
}

export function int64FromDigits(text: string): bigint | undefined {
  return plainInteger.test(text) && text.length <= int64Digits + 1
    ? inRange(BigInt(text))
    : undefined;
}

/** A regular expression would take quadratic time on long runs of zeros. */
function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  return digits.slice(0, end);
}

function inRange(value: bigint): bigint | undefined {
  return value >= int64Min && value <= int64Max ? value : undefined;
}
