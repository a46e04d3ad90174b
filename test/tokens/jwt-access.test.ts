import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { issuers, UsageError } from '../../src/cli/flags/values.ts';
import { Refusal } from '../../src/contract/problems.ts';
import { authenticateCreate } from '../../src/create/authorization.ts';
import type { Exchange } from '../../src/http/exchange.ts';
import { limits } from '../../src/limits.ts';
import type { TableWriter } from '../../src/store/tables/tables.ts';
import { isJwt } from '../../src/tokens/jwt/compact-jwt.ts';
import { fetchKeys } from '../../src/tokens/jwt/issuer.ts';
import { openIssuerKeys } from '../../src/tokens/jwt/issuer-keys.ts';
import { openJwtAccess, withJwts } from '../../src/tokens/jwt/jwt-access.ts';
import { Tally } from '../../src/tokens/tally.ts';
import { openTokens } from '../helpers/access.ts';
import { listenFor } from '../helpers/free-port.ts';
import { audience, forge, makeKey, signText, startProvider } from '../helpers/identity-provider.ts';
import { pause } from '../helpers/pause.ts';
import { storePath } from '../helpers/program.ts';
import { openStoreAt } from '../helpers/store-file.ts';

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

function open(store = storeThat(() => 1), now = Date.now) {
  return openJwtAccess({ store, rules, now, log, newTally });
}

function claimsOf(sub: string) {
  const iat = Math.floor(Date.now() / 1_000);
  return { iss: provider.issuer, aud: audience, sub, scope: 'a b', iat, exp: iat + 300 };
}

function tokenOf(sub: string) {
  return forge(key, claimsOf(sub));
}

test('a token that expires while its subject is stored is refused', async () => {
  let aheadMs = 0;
  const store = storeThat(() => {
    aheadMs = 300_000;
    return 1;
  });
  const now = () => Date.now() + aheadMs;
  await using access = open(store, now);
  const token = await tokenOf('gardener');
  const result = await access.authenticateAgain(token);
  assert(result instanceof Refusal && /expired/.test(result.message));
  assert.equal(access.authenticate(token), undefined);
});

test('a remembered token is admitted until it expires, and refused from then on', async () => {
  let nowMs = Date.now();
  await using access = open(undefined, () => nowMs);
  const claims = claimsOf('gardener');
  const token = await forge(key, claims);
  const header = `Bearer ${token}`;
  const caller = await access.authenticateAgain(token);
  assert('name' in caller);

  nowMs = claims.exp * 1_000 - 1;
  assert.deepEqual([access.recall(header), access.authenticate(token)], [caller, caller]);
  nowMs += 1;
  assert.equal(access.recall(header) ?? access.authenticate(token), undefined);
  const result = await access.authenticateAgain(token);
  assert(result instanceof Refusal && /expired/.test(result.message));
});

test('a token is not remembered if its key is withdrawn while the token is checked, or while its subject is stored', async (t) => {
  const storing = Promise.withResolvers<number>();
  const isStoring = Promise.withResolvers<void>();
  const store = storeThat(({ name }) => {
    if (!name.endsWith('slow')) return 1;
    isStoring.resolve();
    return storing.promise;
  });
  await using access = open(store);

  const stored = await tokenOf('slow');
  const storedLast = access.authenticateAgain(stored);
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
  const checkedLast = access.authenticateAgain(checked);
  await isVerifying.promise;

  const readAtMs = access.keysReadAtMs();
  provider.rotate(next);
  t.after(() => provider.rotate(key));
  access.readKeys();
  while (access.keysReadAtMs() === readAtMs) await pause();
  verifying.resolve();
  storing.resolve(2);
  for (const result of [await checkedLast, await storedLast]) assert(!(result instanceof Refusal));
  for (const token of [checked, stored]) assert.equal(access.authenticate(token), undefined);
});

test('a token is verified once, in whatever way its header is spelled', async (t) => {
  await using jwts = open();
  await using store = await openStoreAt(await storePath(t));
  await using opaque = await openTokens(store);
  const verify = t.mock.method(crypto.subtle, 'verify');
  const token = await tokenOf('gardener');
  const access = withJwts(opaque, jwts);
  for (const scheme of ['Bearer', 'bearer', 'BEARER'])
    for (const spaces of [1, 2, 1_000]) {
      const fields = new Map([['authorization', [scheme + ' '.repeat(spaces) + token]]]);
      const caller = await authenticateCreate({} as Exchange, fields, access);
      assert('name' in caller && caller.name === `${provider.issuer} gardener`);
    }
  assert.equal(verify.mock.callCount(), 1);
});

test('a token is refused if it could be read in two ways, or is no JSON, and the reply says why', async () => {
  await using access = open();
  const ask = (token: string) => access.authenticateAgain(token);
  const claims = JSON.stringify(claimsOf('gardener'));
  const header = JSON.stringify({ alg: key.alg, kid: key.kid, typ: 'at+jwt' });
  const add = (text: string, members: string) => `${text.slice(0, -1)},${members}}`;

  const listed = JSON.stringify({ ...claimsOf('gardener'), aud: ['a', audience] });
  const escaped = claims.replace('"exp"', '"\\u0065xp"');
  for (const good of [claims, ` ${escaped} `, add(listed, '"more":[{"exp":1,"exp":2},null]')])
    assert('name' in (await ask(signText(key, good, ` ${header}`))), good);

  const twice = (name: string) => new RegExp(`not JSON: the member "${name}" is given a second`);
  const refused: [says: RegExp, claims: string | Uint8Array, header?: string][] = [
    ...Object.entries(claimsOf('gardener')).map(([name, value]): [RegExp, string] => [
      twice(name),
      add(claims, `"${name}":${JSON.stringify(value)}`),
    ]),
    [twice('exp'), add(claims, '"\\u0065xp":32503680000')],
    [twice('exp'), add(escaped, '"exp":32503680000')],
    [twice('alg'), claims, add(header, '"alg":"RS256"')],
    [twice('kid'), claims, add(header, '"\\u006bid":"a"')],
    [/its payload is not UTF-8/, Buffer.from(add(claims, '"a":"\xff"'), 'latin1')],
    [/its payload is not JSON/, `\ufeff${claims}`],
    [/its payload is not a JSON object/, `[${claims}]`],
    [/its header is not a JSON object/, claims, 'null'],
    [/its payload .* deeper than/, add(claims, `"a":${'['.repeat(100)}${']'.repeat(100)}`)],
  ];
  for (const [says, ...texts] of refused) {
    const result = await ask(signText(key, ...texts));
    assert(result instanceof Refusal && result.problem === 'tokenInvalid', `${says}`);
    assert.match(result.message, says);
  }
});

test('a token has one spelling: padding, and bits that no byte takes, are refused', async () => {
  await using access = open();
  let parts: string[];
  for (let pad = ''; ; pad += 'x') {
    parts = (await forge(key, { ...claimsOf('gardener'), pad }, { pad })).split('.');
    if (parts.every(({ length }) => length % 4 !== 0)) break;
  }
  assert('name' in (await access.authenticateAgain(parts.join('.'))));
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  for (const [index, name] of ['header', 'payload', 'signature'].entries()) {
    const part = parts[index] as string;
    const respelled = part.slice(0, -1) + alphabet[alphabet.indexOf(part.at(-1) as string) + 1];
    for (const other of index < 2 ? [respelled] : [respelled, `${part}=`, `${part}==`]) {
      const token = parts.with(index, other).join('.');
      assert(isJwt(token));
      const result = await access.authenticateAgain(token);
      assert(result instanceof Refusal && result.message.includes(`its ${name} is not base64url`));
    }
  }
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

test('the keys of an issuer are found by either of the two metadata documents', async () => {
  replies = { [oidc]: metadata, '/jwks': { keys } };
  assert.deepEqual(await fetchKeys(origin), { keys });

  const issuer = `${origin}/tenant`;
  const inTenant = { ...metadata, issuer };
  replies = { '/tenant/.well-known/openid-configuration': inTenant, '/jwks': { keys } };
  assert.deepEqual(await fetchKeys(issuer), { keys });
  replies = { '/.well-known/oauth-authorization-server/tenant': inTenant, '/jwks': { keys } };
  assert.deepEqual(await fetchKeys(issuer), { keys });
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
  'whose keys are not JSON': [{ [oidc]: metadata, '/jwks': '' }, /jwks holds no JSON /],
  'with a reply that is too large': [
    { [oidc]: metadata, '/jwks': ' '.repeat(limits.jwt.fetchBytesMax + 1) },
    /cannot read .*jwks \(more than 256 KiB\)$/,
  ],
};

for (const [what, [answers, says]] of Object.entries(wrong))
  test(`an issuer ${what} is an error that says so`, async () => {
    replies = answers;
    await assert.rejects(fetchKeys(origin), { name: 'IssuerError', message: says });
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
