import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rotateToken } from '../../src/tokens/issue-token.ts';
import { rateLimiterIn, rateLimitMemory } from '../../src/tokens/rate-limit.ts';
import { makeSignInLink, sessionsIn } from '../../src/tokens/sessions.ts';
import { issued, openTokens } from '../helpers/access.ts';
import { storePath } from '../helpers/program.ts';
import { openStoreAt } from '../helpers/store-file.ts';

// The table in docs/operate/troubleshooting.md says all of this.

const hourMs = 3_600_000;
const yearMs = 365 * 24 * hourMs;
const rightMs = Date.parse('2026-11-23T12:00:00Z');

test('a token ends early by a clock that is ahead, late by one that is behind, and by its revocation in any case', async (t) => {
  await using store = await openStoreAt(await storePath(t));
  const first = await issued(store, 'my-app', { validMs: 2 * hourMs }, rightMs);
  const second = await rotateToken(
    store,
    { name: 'my-app', graceMs: hourMs, validMs: undefined },
    rightMs,
  );
  assert('token' in second);
  const isAdmitted = async (token: string, nowMs: number) => {
    await using access = await openTokens(store, { now: () => nowMs, onError: assert.ifError });
    return access.authenticate(token, `Bearer ${token}`) !== undefined;
  };
  const admittedAt = async (nowMs: number) =>
    Promise.all([first, second.token].map((token) => isAdmitted(token, nowMs)));
  assert.deepEqual(await admittedAt(rightMs), [true, true]);
  assert.deepEqual(await admittedAt(rightMs + 1.5 * hourMs), [false, true]);
  assert.deepEqual(await admittedAt(rightMs + yearMs), [false, false]);
  assert.deepEqual(await admittedAt(rightMs - yearMs), [true, true]);
  await store.revokeToken('my-app', rightMs + yearMs);
  assert.deepEqual(await admittedAt(rightMs), [false, false]);
});

test('a session or a link of a clock that was ahead is none by a right clock', async (t) => {
  await using store = await openStoreAt(await storePath(t));
  let nowMs = rightMs + yearMs;
  const sessions = sessionsIn(store, () => nowMs);
  const token = await issued(store, 'alice', { role: 'operate' }, nowMs);
  const link = await makeSignInLink(store, nowMs);
  const signedIn = await sessions.signIn(token);
  assert(typeof signedIn === 'object');
  assert.equal(await sessions.operatorOf(signedIn.secret), 'alice');

  nowMs = rightMs;
  assert.equal(await sessions.operatorOf(signedIn.secret), undefined);
  assert.equal(await sessions.signInByLink(link.secret), 'not in force');
  const again = await sessions.signIn(token);
  assert(typeof again === 'object');
  assert.equal(await sessions.operatorOf(again.secret), 'alice');
  nowMs += yearMs;
  assert.equal(await sessions.operatorOf(again.secret), undefined);
});

test('no step of the clock changes a rate', (t) => {
  const limiter = rateLimiterIn(rateLimitMemory());
  const rate = { perDay: 24, burst: 1 };
  assert.equal(limiter.tryTake(1, rate), 0);
  for (const aheadMs of [yearMs, -yearMs]) {
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + aheadMs });
    const waitMs = limiter.tryTake(1, rate);
    assert(waitMs > 0.9 * hourMs && waitMs <= hourMs, `${waitMs}`);
    t.mock.timers.reset();
  }
});

test('a session whose token expires while the store is asked admits no operator', async () => {
  let nowMs = 1_000;
  const token = { id: 1, name: 'clerk', role: 'operate', expiresAtMs: 2_000 };
  const store = {
    async findSessionToken() {
      nowMs = 2_000;
      return token;
    },
  };
  const sessions = sessionsIn(store as unknown as Parameters<typeof sessionsIn>[0], () => nowMs);
  assert.equal(await sessions.operatorOf('secret'), undefined);
});
