import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../src/limits.ts';
import type { IssuerKeys } from '../../src/tokens/jwt/issuer-keys.ts';
import { rememberVerified } from '../../src/tokens/jwt/verified-tokens.ts';
import { Tally } from '../../src/tokens/tally.ts';
import { heapBytes } from '../helpers/heap.ts';

const { rememberedBytes, rememberedTokensMax } = limits.jwt;
const keys = {} as IssuerKeys;

const tokenOf = (name: string, index: number) => `${name}.${index}.`.padEnd(800, 'x');

function addSubject(to: ReturnType<typeof rememberVerified>, name: string, tokens: number) {
  const tally = new Tally(1, name, []);
  const caller = { id: 1, name, role: 'create', rate: undefined, account: 1, tally } as const;
  // A number with a fraction takes memory of its own, as a time of the clock does.
  const untilMs = Date.now() + 0.5;
  to.addSubject({ caller, untilMs });
  for (let index = 0; index < tokens; index += 1)
    to.addToken(tokenOf(name, index), {
      ...{ caller, keys, keysVersion: 1, expiresAtMs: untilMs + index, notedAtMs: untilMs + index },
    });
}

/** Asserts how much memory such subjects take, and which of them are left. */
async function assertBounded(subjects: number, tokens: number, nameChars: number): Promise<void> {
  const nameOf = (index: number) => `${index} `.padEnd(nameChars, '€');
  const before = await heapBytes();
  const remembered = rememberVerified();
  for (let index = 0; index < subjects; index += 1) addSubject(remembered, nameOf(index), tokens);
  const bytes = (await heapBytes()) - before;
  assert(bytes < rememberedBytes, `${bytes} bytes`);

  const names = Array.from({ length: subjects }, (_, index) => nameOf(index));
  const tokensKept = Math.min(tokens, rememberedTokensMax) * limits.jwt.rememberedTokenBytes;
  const counted = limits.jwt.rememberedSubjectBytes + 2 * nameChars + tokensKept;
  const isKnown = (name: string) => remembered.subject(name) !== undefined;
  const newest = names.slice(-Math.floor(rememberedBytes / counted));
  assert.deepEqual(names.filter(isKnown), newest);
  const lastTokens = names.filter((name) => remembered.token(tokenOf(name, tokens - 1)));
  assert.deepEqual(lastTokens, newest);
}

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

for (const [what, subjects, tokens, nameChars] of [
  ['a token each', 20_000, 1, 40],
  ['the longest names', 20_000, 1, limits.jwt.subjectCharsMax],
  ['all tokens that a subject may have', 3_000, 2 * rememberedTokensMax, 40],
] as const)
  test(`subjects with ${what} take the memory that is counted, and the oldest go`, () =>
    assertBounded(subjects, tokens, nameChars));
