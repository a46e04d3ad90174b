import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openJwtAccess } from '../../src/access/jwt/jwt-access.ts';
import { Tally } from '../../src/access/tally.ts';
import { Refusal } from '../../src/contract/problems.ts';
import type { TableWriter } from '../../src/store/small-tables.ts';
import { audience, forge, makeKey, startProvider } from '../helpers/identity-provider.ts';
import { pause } from '../helpers/pause.ts';

const key = await makeKey('first');
const next = await makeKey('next');
const provider = await startProvider({ after }, [key]);
const rules = {
  ...{ issuers: [provider.issuer], audience, scope: undefined, rate: undefined },
  type: 'at+jwt',
} as const;
const log = { info() {}, error() {} };
const newTally = (id: number, name: string) => new Tally(id, name, []);

function storeThat(ensureSubject: (subject: { name: string }) => number | Promise<number>) {
  return { ensureSubject, recordTokenUse: async () => undefined } as unknown as TableWriter;
}

function tokenOf(sub: string) {
  const iat = Math.floor(Date.now() / 1_000);
  return forge(key, { iss: provider.issuer, aud: audience, sub, iat, exp: iat + 300 });
}

test('a token that expires while its subject is stored is refused', async () => {
  let aheadMs = 0;
  const store = storeThat(() => {
    aheadMs = 300_000;
    return 1;
  });
  const now = () => Date.now() + aheadMs;
  await using access = openJwtAccess({ store, rules, now, log, newTally });
  const token = await tokenOf('gardener');
  const result = await access.authenticateAgain(token, token);
  assert(result instanceof Refusal && /expired/.test(result.message));
  assert.equal(access.recall(token), undefined);
});

test('a token is not remembered if its key is withdrawn while the token is checked, or while its subject is stored', async (t) => {
  const storing = Promise.withResolvers<number>();
  const isStoring = Promise.withResolvers<void>();
  const store = storeThat(({ name }) => {
    if (!name.endsWith('slow')) return 1;
    isStoring.resolve();
    return storing.promise;
  });
  await using access = openJwtAccess({ store, rules, now: Date.now, log, newTally });

  const stored = await tokenOf('slow');
  const storedLast = access.authenticateAgain(stored, stored);
  await isStoring.promise;

  const verifying = Promise.withResolvers<void>();
  const isVerifying = Promise.withResolvers<void>();
  const verify = crypto.subtle.verify.bind(crypto.subtle);
  t.mock.method(crypto.subtle, 'verify', async (...args: Parameters<typeof verify>) => {
    isVerifying.resolve();
    await verifying.promise;
    return verify(...args);
  });
  const checked = await tokenOf('gardener');
  const checkedLast = access.authenticateAgain(checked, checked);
  await isVerifying.promise;

  const readAtMs = access.keysReadAtMs();
  provider.rotate(next);
  access.readKeys();
  while (access.keysReadAtMs() === readAtMs) await pause();
  verifying.resolve();
  storing.resolve(2);
  for (const result of [await checkedLast, await storedLast]) assert(!(result instanceof Refusal));
  for (const token of [checked, stored]) assert.equal(access.recall(token), undefined);
});
