import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { fetchKeys } from '../../src/access/jwt/issuer.ts';
import { openIssuerKeys } from '../../src/access/jwt/issuer-keys.ts';
import { openJwtAccess } from '../../src/access/jwt/jwt-access.ts';
import { Tally } from '../../src/access/tally.ts';
import { issuers, UsageError } from '../../src/config/values.ts';
import { Refusal } from '../../src/contract/problems.ts';
import { limits } from '../../src/limits.ts';
import type { TableWriter } from '../../src/store/small-tables.ts';
import { listenFor } from '../helpers/free-port.ts';
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

/** What the issuer answers, by path: a body, or a status with header fields. */
let replies: Record<string, unknown> = {};

const server = createServer((request, response) => {
  const reply = replies[request.url ?? ''];
  if (reply === undefined) response.writeHead(404).end();
  else if (typeof reply === 'string') response.end(reply);
  else if (Array.isArray(reply))
    response.writeHead(...(reply as [number, Record<string, string>])).end();
  else response.end(JSON.stringify(reply));
});

const origin = `http://127.0.0.1:${await listenFor({ after }, server)}`;
const oidc = '/.well-known/openid-configuration';
const metadata = { issuer: origin, jwks_uri: `${origin}/jwks` };
const keys = [{ kty: 'RSA', n: 'AQAB', e: 'AQAB' }];

async function read(issuer = origin) {
  const reply = await fetchKeys(issuer, AbortSignal.timeout(60_000));
  return reply.json();
}

test('the keys of an issuer are found by either of the two metadata documents', async () => {
  replies = { [oidc]: metadata, '/jwks': { keys } };
  assert.deepEqual(await read(), { keys });

  const issuer = `${origin}/tenant`;
  const inTenant = { ...metadata, issuer };
  replies = { '/tenant/.well-known/openid-configuration': inTenant, '/jwks': { keys } };
  assert.deepEqual(await read(issuer), { keys });
  replies = { '/.well-known/oauth-authorization-server/tenant': inTenant, '/jwks': { keys } };
  assert.deepEqual(await read(issuer), { keys });
});

const wrong: Record<string, [replies: Record<string, unknown>, says: RegExp]> = {
  'without metadata': [{}, /oauth-authorization-server answers with the status 404$/],
  'that sends elsewhere': [
    { [oidc]: [302, { Location: `${origin}/jwks` }], '/jwks': metadata },
    /cannot read .*redirect/,
  ],
  'of another name': [
    { [oidc]: { ...metadata, issuer: `${origin}/` } },
    /calls itself .* the same to the letter$/,
  ],
  'whose keys are not encrypted on their way': [
    { [oidc]: { ...metadata, jwks_uri: 'http://192.0.2.1/jwks' } },
    /jwks_uri .* https/,
  ],
  'whose keys are at a name that looks like an address of this machine': [
    { [oidc]: { ...metadata, jwks_uri: 'http://127.0.0.1.example.org/jwks' } },
    /jwks_uri .* https/,
  ],
  'with a reply that is too large': [
    { [oidc]: metadata, '/jwks': ' '.repeat(limits.jwt.fetchBytesMax + 1) },
    /cannot read .*jwks \(more than 256 KiB\)$/,
  ],
};

for (const [what, [answers, says]] of Object.entries(wrong))
  test(`an issuer ${what} is an error that says so`, async () => {
    replies = answers;
    await assert.rejects(read(), { name: 'IssuerError', message: says });
  });

test('an issuer without encryption must be on this machine', () => {
  for (const url of ['http://localhost', 'http://127.0.0.1:1/a', 'http://127.9', 'http://[::1]'])
    assert.deepEqual(issuers(url), [url]);
  for (const host of [
    '127.example.org',
    '127.0.0.1.example.org',
    'localhost.example.org',
    '128.0.0.1',
    '[::2]',
  ])
    assert.throws(() => issuers(`http://${host}`), UsageError, host);
});

test('the log says that an issuer has no keys', async () => {
  replies = { [oidc]: metadata, '/jwks': {} };
  const logged = Promise.withResolvers<object>();
  using read = openIssuerKeys(origin, { error: logged.resolve, info() {} });
  assert.match(JSON.stringify(await logged.promise), /JSON Web Key Set/);
  assert.equal(read.current(), undefined);
});
