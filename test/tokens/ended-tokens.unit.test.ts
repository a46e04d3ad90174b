import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Refusal } from '../../src/contract/problems.ts';
import { limits } from '../../src/limits.ts';
import type { Store } from '../../src/store/store.ts';
import { withJwts } from '../../src/tokens/jwt/jwt-access.ts';
import { generateToken, hashToken } from '../../src/tokens/opaque-tokens.ts';
import { Tally } from '../../src/tokens/tally.ts';
import { openTokens } from '../helpers/access.ts';
import { until } from '../helpers/pause.ts';
import { storePath } from '../helpers/program.ts';
import { openStoreAt } from '../helpers/store-file.ts';

const { endedLookupsMax } = limits.access;
/** On a slow machine, too, a lookup is over by then. */
const patientMs = 60_000;

/** A store whose lookups the test counts and replaces, and the access by its tokens. */
async function openAccess(t: TestContext, endedLookupMs = patientMs) {
  const path = await storePath(t);
  const store = await openStoreAt(path);
  t.after(() => store.close());
  const lookups: number[] = [];
  const control = { findTokens: store.findTokens };
  const counted: Store = {
    ...store,
    findTokens(hashes) {
      lookups.push(hashes.length);
      return control.findTokens(hashes);
    },
  };
  let tallies = 0;
  const newTally = (id: number, name: string) => {
    tallies += 1;
    return new Tally(id, name, []);
  };
  const opaque = await openTokens(counted, { endedLookupMs, newTally });
  t.after(() => opaque[Symbol.asyncDispose]());
  // As with an identity provider: no token here is a JWT.
  const access = { ...opaque, ...withJwts(opaque, opaque) };

  async function ended(name: string, how: 'revoked' | 'expired' = 'revoked'): Promise<string> {
    const token = generateToken();
    const expiresAtMs = how === 'expired' ? 2 : undefined;
    const made = { name, hash: hashToken(token), createdAtMs: 1, expiresAtMs };
    assert.equal(await store.createToken({ ...made, role: 'create' }, 10), 'created');
    if (how === 'revoked') await store.revokeToken(name, 2);
    return token;
  }
  /** @returns the name under which the token is refused */
  async function refused(token: string): Promise<string | undefined> {
    const found = await access.authenticateAgain(token, `Bearer ${token}`);
    if (found instanceof Tally) return found.name;
    assert(found instanceof Refusal && found.problem === 'tokenInvalid');
    return undefined;
  }
  return { access, store, control, lookups, ended, refused, tallies: () => tallies };
}

test('a revoked and an expired token are refused with their names, and are neither admitted nor noted as used', async (t) => {
  const { access, store, lookups, ended, refused } = await openAccess(t);
  const tokens = [await ended('app'), await ended('last-year', 'expired')];
  const names = ['app', 'last-year', undefined];
  assert.deepEqual(await Promise.all([...tokens, generateToken()].map(refused)), names);
  const lookedUp = lookups.reduce((sum, count) => sum + count, 0);
  assert.equal(lookedUp, 3);

  for (const token of tokens) {
    assert.equal(access.authenticate(token, `Bearer ${token}`), undefined);
    assert.equal(access.recall(`Bearer ${token}`), undefined);
  }
  await access[Symbol.asyncDispose]();
  const uses = (await store.listTokens()).map(({ lastUsedAtMs }) => lastUsedAtMs);
  assert.deepEqual(uses, [undefined, undefined]);
});

test('a token that is revoked while it is used has its name from the first refusal on', async (t) => {
  const { access, store, refused } = await openAccess(t);
  const token = generateToken();
  const made = { name: 'app', hash: hashToken(token), createdAtMs: 1, expiresAtMs: undefined };
  await store.createToken({ ...made, role: 'create' }, 10);
  const admitted = await access.authenticateAgain(token, '');
  assert('name' in admitted && admitted.name === 'app');
  await store.revokeToken('app', 2);
  assert.equal(await refused(token), 'app');
});

test('a flood of made-up tokens causes one lookup of a bounded number, and an ended token beside it is named later', async (t) => {
  const { lookups, ended, refused, tallies } = await openAccess(t);
  const token = await ended('app');
  const flood = Array.from({ length: 20 * endedLookupsMax }, generateToken);
  const names = await Promise.all([...flood, token].map(refused));
  assert(names.every((name) => name === undefined));
  // On a busy machine, the flood lasts for two readings of the tokens.
  assert(lookups.length <= 2 && Math.max(...lookups) === endedLookupsMax, `${lookups}`);

  // A thousand requests with one secret are one token, at each reading of the tokens.
  const again = await Promise.all(Array.from({ length: 1_000 }, () => refused(token)));
  assert(again.every((name) => name === 'app'));
  assert.deepEqual(new Set(lookups), new Set([endedLookupsMax, 1]));
  assert(tallies() <= lookups.length, `${tallies()} tallies`);
});

test('a lookup that fails leaves a token unnamed until the next one', async (t) => {
  const { control, store, lookups, ended, refused } = await openAccess(t);
  const token = await ended('app');
  control.findTokens = () => Promise.reject(new Error('the disk is away'));
  assert.equal(await refused(token), undefined);
  control.findTokens = store.findTokens;
  assert.equal(await refused(token), 'app');
  assert.deepEqual(lookups, [1, 1]);
});

test('no reply waits for a slow lookup', async (t) => {
  const { control, store, ended, refused } = await openAccess(t, 100);
  const token = await ended('app');
  control.findTokens = () => new Promise(() => undefined);
  assert.equal(await refused(token), undefined);
  control.findTokens = store.findTokens;
  await until(
    () => refused(token),
    (name) => name === 'app',
  );
});
