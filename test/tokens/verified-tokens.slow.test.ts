import { test } from 'node:test';
import { limits } from '../../src/limits.ts';
import { assertBounded } from './verified-tokens.ts';

for (const [what, nameChars] of [
  ['a token each', 40],
  ['the longest names', limits.jwt.subjectCharsMax],
] as const)
  test(`subjects with ${what} take the memory that is counted, and the oldest go`, () =>
    assertBounded(20_000, 1, nameChars));
