import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '../../src/contract/problems.ts';
import { rateRefusal } from '../../src/create/create-plant.ts';
import { limits } from '../../src/limits.ts';
import type { Store } from '../../src/store/store.ts';
import type { TableWriter } from '../../src/store/tables/tables.ts';
import type { TokenRecord } from '../../src/store/tables/tokens.ts';
import { rotateToken } from '../../src/tokens/issue-token.ts';
import { generateToken, hashToken } from '../../src/tokens/opaque-tokens.ts';
import { rateLimiterIn, rateLimitMemory } from '../../src/tokens/rate-limit.ts';
import { recordUses } from '../../src/tokens/token-use.ts';
import { issued, openTokens } from '../helpers/access.ts';
import { heapBytes } from '../helpers/heap.ts';
import { storePath } from '../helpers/program.ts';
import { openStoreAt } from '../helpers/store-file.ts';

test('a thread that is too busy for its timers still reads the tokens again, when a request needs them', async (t) => {
  await using store = await openStoreAt(await storePath(t));
  const token = await issued(store, 'my-app');
  t.mock.timers.enable({ apis: ['setTimeout'] });
  // It stands still but for the pauses of the test.
  let nowMs = performance.now();
  t.mock.method(performance, 'now', () => nowMs);
  await using access = await openTokens(store, { onError: assert.ifError });
  const authenticate = () => access.authenticate(token, `Bearer ${token}`);

  for (const round of [1, 2]) {
    nowMs += limits.access.refreshMs + 1;
    const caller = authenticate();
    assert(
      typeof caller === 'object' && 'name' in caller && caller.name === 'my-app',
      `round ${round}: ${JSON.stringify(caller)}`,
    );
    // What was read for this request is there for the next one.
    await new Promise(setImmediate);
  }

  t.mock.timers.reset();
  nowMs += limits.access.staleMs + 1;
  assert.equal(authenticate(), undefined);
  nowMs += limits.access.readAgainMs;
  const again = await access.authenticateAgain(token, `Bearer ${token}`);
  assert('name' in again && again.name === 'my-app');

  await store.revokeToken('my-app', Date.now());
  nowMs += limits.access.refreshMs + 1;
  authenticate();
  await new Promise(setImmediate);
  assert.equal(authenticate(), undefined);
});

test('a token that is new is found by a read for it, and a token of another form needs no read', async (t) => {
  await using store = await openStoreAt(await storePath(t));
  const readsMs: number[] = [];
  // A read counts from the last look at the clock: a pause may come between that and the store.
  const clock = performance.now.bind(performance);
  let lookedMs = 0;
  t.mock.method(performance, 'now', () => (lookedMs = clock()));
  const counted: Store = {
    ...store,
    liveTokens(nowMs) {
      readsMs.push(lookedMs);
      return store.liveTokens(nowMs);
    },
  };
  const threads = 2;
  await using access = await openTokens(counted, { threads });
  const token = await issued(store, 'my-app');
  const ask = (token: string) => access.authenticateAgain(token, `Bearer ${token}`);

  const [found, ...others] = await Promise.all(
    [token, ...Array.from({ length: 100 }, generateToken)].map(ask),
  );
  assert(typeof found === 'object' && 'name' in found && found.name === 'my-app');
  const isRefused = (other: unknown) =>
    other instanceof Refusal && other.problem === 'tokenInvalid';
  assert(others.every(isRefused));

  const before = readsMs.length;
  assert(isRefused(await ask('not-of-this-service')));
  assert.equal(readsMs.length, before);

  for (let guesses = 0; guesses < 3; guesses += 1) assert(isRefused(await ask(generateToken())));
  const pausesMs = readsMs.slice(1).map((ms, index) => ms - (readsMs[index] as number));
  // All threads together read once in this time.
  assert(Math.min(...pausesMs) >= threads * limits.access.readAgainMs - 1, `${pausesMs}`);
});

test('a token whose hash has only its first half in common with a stored hash is refused', async (t) => {
  await using store = await openStoreAt(await storePath(t));
  const token = generateToken();
  const hash = Buffer.concat([hashToken(token).subarray(0, 16), Buffer.alloc(16)]);
  const made = {
    name: 'near',
    hash,
    role: 'create',
    createdAtMs: 1,
    expiresAtMs: undefined,
  } as const;
  assert.equal(await store.createToken(made, 1), 'created');
  await using access = await openTokens(store);
  assert.equal(access.authenticate(token, `Bearer ${token}`), undefined);
});

test('the two secrets of a rotated token share one bucket, and the secret before ends with the grace', async (t) => {
  await using store = await openStoreAt(await storePath(t));
  let nowMs = Date.now();
  const rate = { perDay: 1, burst: 3 };
  const old = { token: await issued(store, 'my-app', { rate }, nowMs) };
  await issued(store, 'other', { rate }, nowMs);
  const rotation = { name: 'my-app', graceMs: 1_000, validMs: undefined };
  const next = await rotateToken(store, rotation, nowMs);
  assert('token' in next);
  await using access = await openTokens(store, { now: () => nowMs });
  const caller = ({ token }: { token: string }) => {
    const found = access.authenticate(token, `Bearer ${token}`);
    return typeof found === 'object' && 'id' in found ? found : assert.fail(`${found}`);
  };

  const limiter = rateLimiterIn(rateLimitMemory());
  const [one, other] = [caller(old), caller(next)];
  assert.notEqual(one.id, other.id);
  assert.deepEqual([one.name, one.rate, one.role], [other.name, other.rate, other.role]);
  const refused = [one, other, one, other, one].map(({ account, rate: own = rate }) =>
    rateRefusal(account, own, limiter),
  );
  const found = refused.map((refusal) => refusal?.problem);
  assert.deepEqual(found, [undefined, undefined, undefined, 'rateLimited', 'rateLimited']);

  nowMs += 1_000;
  assert.equal(access.authenticate(old.token, ''), undefined);
  assert.equal(access.recall(`Bearer ${old.token}`), undefined);
  assert.equal(caller(next).id, other.id);
});

test('of the headers of clients, one spelling of each token is remembered, and not the head around it', async (t) => {
  await using store = await openStoreAt(await storePath(t));
  const tokens = Array.from({ length: limits.access.liveTokensMax }, generateToken);
  const [token = ''] = tokens;
  const records = tokens.map((one, index) => {
    const named = { id: index + 1, name: `app-${index}` };
    return {
      ...named,
      hash: hashToken(one),
      role: 'create',
    } as Partial<TokenRecord> as TokenRecord;
  });
  await using access = await openTokens({ ...store, liveTokens: async () => records });
  const before = await heapBytes();
  for (const one of tokens) {
    const head = Buffer.alloc(limits.http.headerBytesMax, `Bearer ${one}\r\n`).toString('latin1');
    const [header = ''] = /^.*/.exec(head) ?? [];
    assert(typeof access.authenticate(one, header) === 'object');
    assert(access.recall(header));
  }
  for (let spaces = 2; spaces < 1_000; spaces += 1)
    access.authenticate(token, `Bearer${' '.repeat(spaces)}${token}`);
  assert.equal(access.recall(`Bearer  ${token}`), undefined);
  assert(access.recall(`Bearer ${token}`));
  const bytes = (await heapBytes()) - before;
  assert(bytes < 400 * tokens.length, `${bytes} bytes`);
});

test('after uses of many tokens, the times are written before the list grows further', async () => {
  const written: number[] = [];
  const recordTokenUse: TableWriter['recordTokenUse'] = async (uses) => {
    written.push(uses.length);
  };
  const uses = recordUses({ recordTokenUse } as TableWriter, assert.ifError);
  const { usesMax } = limits.access;
  for (let id = 1; id <= 2 * usesMax + 1; id += 1) uses.note(id, 1);
  await uses[Symbol.asyncDispose]();
  assert.deepEqual(written, [usesMax, usesMax, 1]);
});
