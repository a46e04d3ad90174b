import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { fetchKeys } from '../../src/access/jwt/issuer.ts';
import { openIssuerKeys } from '../../src/access/jwt/issuer-keys.ts';
import { limits } from '../../src/limits.ts';
import { listenFor } from '../helpers/free-port.ts';

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
  const reply = await fetchKeys(issuer, AbortSignal.timeout(5_000));
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

test('the log says that an issuer has no keys', async () => {
  replies = { [oidc]: metadata, '/jwks': {} };
  const logged = Promise.withResolvers<object>();
  using read = openIssuerKeys(origin, { error: logged.resolve, info() {} });
  assert.match(JSON.stringify(await logged.promise), /JSON Web Key Set/);
  assert.equal(read.current(), undefined);
});
