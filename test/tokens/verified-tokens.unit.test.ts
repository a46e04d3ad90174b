import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../src/limits.ts';
import { rememberVerified } from '../../src/tokens/jwt/verified-tokens.ts';
import { addSubject, assertBounded, tokenOf } from './verified-tokens.ts';

const { rememberedBytes, rememberedTokensMax } = limits.jwt;

/* Subjects with a token each: verified-tokens.slow.test.ts. */

test('the last tokens of a subject are remembered, and push out no token of another subject', () => {
  const remembered = rememberVerified();
  addSubject(remembered, 'quiet', 1);
  const tokens = 2 * Math.ceil(rememberedBytes / limits.jwt.rememberedTokenBytes);
  addSubject(remembered, 'busy', tokens);
  const isKnown = (index: number) => remembered.token(tokenOf('busy', index)) !== undefined;
  const indexes = Array.from({ length: tokens }, (_, index) => index);
  assert.deepEqual(indexes.filter(isKnown), indexes.slice(-rememberedTokensMax));
  assert(remembered.token(tokenOf('quiet', 0)));
});

test('subjects with all tokens that a subject may have take the memory that is counted, and the oldest go', () =>
  assertBounded(3_000, 2 * rememberedTokensMax, 40));
