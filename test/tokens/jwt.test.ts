import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { makeAuthority, withoutOpenssl } from '../helpers/certificates.ts';
import { withLimits } from '../helpers/faults.ts';
import {
  audience,
  forge,
  type IdentityProvider,
  makeKey,
  publicPart,
  scope,
  signText,
  startProvider,
} from '../helpers/identity-provider.ts';
import { pause, untilInForce } from '../helpers/pause.ts';
import {
  create,
  oneThread,
  type RunningServer,
  runProgram,
  startServer,
  startServerOnNewStore,
  storePath,
  takesNoCode,
  temporaryFolder,
  token,
} from '../helpers/program.ts';
import { on, runHere } from '../helpers/run-here.ts';
import { alterStore } from '../helpers/store-file.ts';

const key = await makeKey('first');
const other = await makeKey('other');
const provider = await startProvider({ after }, [key]);
const second = await startProvider({ after }, [other]);
const issuers = `${provider.issuer},${second.issuer}`;
const flags = ['--jwt-issuer', issuers, '--jwt-audience', audience, '--jwt-scope', scope];
const server = await startServerOnNewStore({ after }, ...flags);

/** A provider that is away at the start of a service that asks its providers often, and has a fixed token. */
const late = await startProvider({ after }, [key]);
const lateIsThere = late.fail();
const rulesOf = (...issuers: string[]) => [
  ...['--jwt-issuer', issuers.join(','), '--jwt-audience', audience],
];
const fixed = 'fixed-token.in-the-form.of-a-jwt-0123456789';
const askingStore = await storePath({ after });
const asking = await startServer(
  { after },
  askingStore,
  [...oneThread, ...rulesOf(provider.issuer, late.issuer), '--jwt-type', 'jwt'],
  {
    ...(takesNoCode ? {} : withLimits({ jwt: { keysRetryMs: 200, keysAgainMs: 100 } })),
    PLANT_STORE_TOKEN: fixed,
  },
);

let lastId = 0;

async function send(bearer: string, { plantsUrl }: RunningServer = server) {
  const plant = { id: (lastId += 1), name: 'Alder' };
  const reply = await create(plantsUrl, plant, { Authorization: `Bearer ${bearer}` });
  const { error, message } = (await reply.json()) as { error?: number; message?: string };
  return { status: reply.status, error, message, challenge: reply.headers.get('www-authenticate') };
}

type Claims = Readonly<Record<string, unknown>>;

const nowSeconds = () => Math.floor(Date.now() / 1_000);

function claimsOf({ issuer }: IdentityProvider, changed: Claims = {}): Claims {
  const iat = nowSeconds();
  const times = { iat, exp: iat + 300 };
  return { iss: issuer, aud: audience, sub: 'gardener', scope, ...times, ...changed };
}

test('a token of each provider creates plants, beside the tokens of the store', async () => {
  const own = await provider.token();
  assert.equal((await send(own)).status, 200);
  assert.equal((await send(own)).status, 200, 'verified once, and remembered');
  assert.equal((await send(await second.token('florist'))).status, 200);
  assert.equal((await send(token)).status, 200);

  const list = ['plants', 'list', '--json', ...on(server.store)];
  const { stdout } = await runHere([...list, '--created-by', `${second.issuer} florist`]);
  assert.match(stdout, new RegExp(`"createdBy":"${second.issuer} florist"\\}\\n$`));
  assert.equal(stdout.split('\n').length, 2);
});

test('every asymmetric algorithm is accepted', async () => {
  const algorithms = ['RS256', 'RS512', 'PS256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'];
  const keys = await Promise.all(algorithms.map((alg) => makeKey(alg, alg)));
  provider.rotate(key, ...keys);
  for (const one of keys)
    assert.equal((await send(await forge(one, claimsOf(provider)))).status, 200, one.alg);
  // Two names of one algorithm.
  for (const one of keys.filter(({ crv }) => crv === 'Ed25519'))
    for (const alg of ['EdDSA', 'Ed25519'])
      assert.equal((await send(await forge({ ...one, alg }, claimsOf(provider)))).status, 200, alg);
  provider.rotate(key);
});

type Forgery = readonly [says: RegExp, make: () => string | Promise<string>];

const signed = (changed: Claims, header?: Claims): Forgery[1] => {
  return () => forge(key, claimsOf(provider, changed), header);
};
const forged = (header: Claims): Forgery[1] => {
  return () => forge({ ...other, kid: key.kid }, claimsOf(provider), header);
};

/** A reason for each: another rule would refuse some of these tokens as well. */
const refused: Readonly<Record<string, Forgery>> = {
  'without a signature': [
    /\(alg\)/,
    async () => {
      const [, claims] = (await forge(key, claimsOf(provider))).split('.');
      const head = JSON.stringify({ alg: 'none', typ: 'at+jwt' });
      return `${Buffer.from(head).toString('base64url')}.${claims}.`;
    },
  ],
  'with the public key as the secret of a MAC': [
    /\(alg\)/,
    () => {
      const pem = createPublicKey({ key, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
      return forge(new TextEncoder().encode(`${pem}`), claimsOf(provider), { kid: key.kid });
    },
  ],
  'with the right signature of another token': [
    /signature is wrong/,
    async () => {
      const [head, claims] = (await forge(key, claimsOf(provider))).split('.');
      const [, , signature] = (await forge(key, claimsOf(provider, { sub: 'florist' }))).split('.');
      return `${head}.${claims}.${signature}`;
    },
  ],
  'with the key of another issuer': [/no such key/, () => forge(other, claimsOf(provider))],
  'with the key of another issuer under the name of a good key': [/signature is wrong/, forged({})],
  'with a key in its header': [/signature is wrong/, forged({ jwk: publicPart(other) })],
  'with the address of a key in its header': [
    /signature is wrong/,
    forged({ jku: `${second.issuer}/jwks`, x5u: `${second.issuer}/jwks` }),
  ],
  'with a member that must be understood': [/\(crit\)/, signed({}, { crit: ['b64'], b64: true })],
  'that is no access token': [/\(typ\)/, signed({}, { typ: 'logout+jwt' })],
  'that is an ID token': [/\(typ\)/, signed({}, { typ: 'JWT' })],
  'without a type': [/\(typ\)/, signed({}, { typ: undefined })],
  'for another service': [/\(aud\)/, signed({ aud: `${audience}/` })],
  'without an audience': [/\(aud\)/, signed({ aud: undefined })],
  'of an unknown issuer': [/\(iss\)/, signed({ iss: `${provider.issuer}/` })],
  'without an issuer': [/\(iss\)/, signed({ iss: undefined })],
  'that has expired': [/expired \(exp\)/, signed({ exp: nowSeconds() - 1 })],
  'that never expires': [/no valid .* \(exp\)/, signed({ exp: undefined })],
  'that expires in years': [/24 hours .* \(exp\)/, signed({ exp: nowSeconds() + 90_000 })],
  'that is not valid yet': [/\(nbf\)/, signed({ nbf: nowSeconds() + 3_600 })],
  'of the future': [/\(iat\)/, signed({ iat: nowSeconds() + 3_600 })],
  'without a subject': [/\(sub\)/, signed({ sub: undefined })],
  'with a subject that breaks lines': [/\(sub\)/, signed({ sub: 'a\nb' })],
  'with a subject that is too long': [/\(sub\)/, signed({ sub: 'a'.repeat(256) })],
  'with claims that are no object': [/payload is not/, () => signText(key, '[]')],
};

test('a forged, foreign, endless or misshapen token is refused with 401 and the reason', async () => {
  for (const [what, [says, make]] of Object.entries(refused)) {
    const { status, error, message = '', challenge } = await send(await make());
    assert.deepEqual([status, error], [401, 40101], what);
    assert.match(message, says, what);
    assert.equal(challenge, 'Bearer realm="plant-store", error="invalid_token"');
  }
});

test('a certificate in the header of a token is ignored', {
  skip: withoutOpenssl(),
}, async (t) => {
  const files = makeAuthority(await temporaryFolder(t), 'forger').issue('forger');
  const forger = createPrivateKey(readFileSync(files.key)).export({ format: 'jwk' });
  const x5c = [new X509Certificate(readFileSync(files.certificate)).raw.toString('base64')];
  const named = { ...forger, kid: 'forger', alg: 'ES256' };
  const reply = await send(await forge(named, claimsOf(provider), { x5c }));
  assert.equal(reply.status, 401);
  assert.match(reply.message ?? '', /no such key/);
});

test('clocks may differ by a minute', async () => {
  const ahead = nowSeconds() + 50;
  for (const changed of [{ iat: ahead }, { nbf: ahead }])
    assert.equal((await send(await forge(key, claimsOf(provider, changed)))).status, 200);
});

test('a token without the scope is refused with 403, which names the scope', async () => {
  for (const changed of [{ scope: 'plants:read' }, { scope: undefined }, { scope: `${scope}s` }]) {
    const reply = await send(await forge(key, claimsOf(provider, changed)));
    assert.deepEqual([reply.status, reply.error], [403, 40300]);
    const parameters = `error="insufficient_scope", scope="${scope}"`;
    assert.equal(reply.challenge, `Bearer realm="plant-store", ${parameters}`);
  }
  for (const changed of [{ scope: `openid ${scope}` }, { scope: undefined, scp: [scope] }])
    assert.equal((await send(await forge(key, claimsOf(provider, changed)))).status, 200);
});

/** Resolves once keys that could not be read are read again after the change. */
async function readAgain(change: () => void): Promise<void> {
  const before = asking.stderr().length;
  change();
  await asking.logged((stderr) => stderr.slice(before).includes('can be read again'));
}

test('a service starts while a provider is away, and finds its keys later', {
  skip: takesNoCode,
}, async () => {
  const good = await forge(key, claimsOf(late));
  assert.equal((await send(good, asking)).status, 503);
  assert.equal((await send(fixed, asking)).status, 200);
  await readAgain(lateIsThere);
  assert.equal((await send(good, asking)).status, 200);
});

test('a new key is found at once, and a removed key refuses its tokens', {
  skip: takesNoCode,
}, async () => {
  const next = await makeKey('next');
  const old = await forge(key, claimsOf(provider));
  assert.equal((await send(old, asking)).status, 200);
  provider.rotate(next);
  assert.equal((await send(await forge(next, claimsOf(provider)), asking)).status, 200);
  assert.equal((await send(old, asking)).status, 401);
  provider.rotate(key);
  assert.equal((await send(old, asking)).status, 200);
});

test('after a SIGHUP a key that was removed refuses its tokens', {
  skip: takesNoCode,
}, async () => {
  const removed = await makeKey('removed');
  provider.rotate(key, removed);
  const bearer = await forge(removed, claimsOf(provider));
  assert.equal((await send(bearer, asking)).status, 200);
  provider.rotate(key);
  assert.equal((await send(bearer, asking)).status, 200, 'the keys have not been read again');
  asking.child.kill('SIGHUP');
  while ((await send(bearer, asking)).status === 200) await pause();
  assert.equal((await send(bearer, asking)).status, 401);
});

test('made-up keys cause few reads, and good tokens do not wait', async () => {
  const good = await forge(key, claimsOf(provider));
  assert.equal((await send(good)).status, 200);
  provider.takePaths();
  const beganMs = performance.now();
  const madeUp = Array.from({ length: 100 }, (_, index) =>
    forge({ ...other, kid: `made-up-${index}` }, claimsOf(provider)).then((one) => send(one)),
  );
  assert.equal((await send(good)).status, 200);
  for (const reply of await Promise.all(madeUp)) assert.equal(reply.status, 401);
  const reads = provider.takePaths().filter((path) => path === '/jwks').length;
  const seconds = (performance.now() - beganMs) / 1_000;
  assert(reads >= 1 && reads <= 2 + seconds, `${reads} reads in ${seconds} s`);
});

test('known keys stay in force while the provider is away, and an unknown key gets 503', {
  skip: takesNoCode,
}, async () => {
  const good = () => forge(key, claimsOf(provider));
  const unknown = await forge(other, claimsOf(provider));
  assert.equal((await send(await good(), asking)).status, 200);
  const recover = provider.fail();
  assert.equal((await send(await good(), asking)).status, 200);
  const reply = await send(unknown, asking);
  assert.deepEqual([reply.status, reply.error], [503, 50301]);
  await asking.logged((log) => /"code":50301,.*cannot be read; the log has the reason/.test(log));
  await readAgain(recover);
  assert.equal((await send(unknown, asking)).status, 401);
});

test('with --jwt-type jwt, a token may be of the type JWT or of none', async () => {
  const statusOf = async (typ?: string) =>
    (await send(await forge(key, claimsOf(provider), { typ }), asking)).status;
  for (const typ of ['JWT', undefined, 'at+jwt', 'application/at+jwt'])
    assert.equal(await statusOf(typ), 200);
  assert.equal(await statusOf('logout+jwt'), 401);
});

test('while the tokens cannot be read, any of them and a wrong one get 503, also a fixed one in the form of a JWT, and JWTs are judged', async () => {
  const statusOf = async (bearer: string) => (await send(bearer, asking)).status;
  const remembered = await provider.token();
  for (const bearer of [fixed, remembered]) assert.equal(await statusOf(bearer), 200);

  alterStore(askingStore, 'ALTER TABLE tokens RENAME TO away');
  await untilInForce(() => statusOf(fixed), 200, 503);
  assert.equal(await statusOf('wrong'), 503);
  for (const bearer of [remembered, await provider.token()])
    assert.equal(await statusOf(bearer), 200);
  assert.equal(await statusOf(`${fixed}0`), 401);

  alterStore(askingStore, 'ALTER TABLE away RENAME TO tokens');
  await untilInForce(() => statusOf(fixed), 503, 200);
});

test('doctor and the metrics tell whether the provider can be read', async () => {
  const doctor = ['doctor', ...on(server.store)];
  const metrics = async () => (await fetch(`${server.opsUrl}metrics`)).text();
  while (!/^plant_store_issuer_keys_read_seconds 1\d{9}/m.test(await metrics())) await pause();
  const well = await runHere([...doctor, ...flags]);
  assert.match(well.stdout, /ok +issuer +.* has 1 keys$/m);
  const recover = provider.fail();
  const ill = await runHere([...doctor, ...flags]);
  recover();
  assert.equal(ill.code, 1);
  assert.match(ill.stdout, /error +issuer +.* answers with the status 503; tokens with/);
  const { stdout } = await runHere([...doctor, ...rulesOf(`${provider.issuer}/`)]);
  assert.match(stdout, /error +issuer +.* calls itself .* to the letter/);
});

test('an issuer with a certificate of a private authority needs NODE_EXTRA_CA_CERTS', {
  skip: withoutOpenssl(),
}, async (t) => {
  const folder = await temporaryFolder(t);
  const authority = makeAuthority(folder, 'authority');
  const forLocalhost = ['-addext', 'subjectAltName=DNS:localhost'];
  const { certificate, key: keyFile } = authority.issue('localhost', forLocalhost);
  const pair = { cert: readFileSync(certificate), key: readFileSync(keyFile) };
  const issuing = createServer(pair, (request, response) => {
    const reply = request.url === '/jwks' ? { keys: [publicPart(key)] } : { issuer, jwks_uri };
    response.end(JSON.stringify(reply));
  }).listen(0);
  t.after(() => issuing.close());
  await once(issuing, 'listening');
  const issuer = `https://localhost:${(issuing.address() as AddressInfo).port}`;
  const jwks_uri = `${issuer}/jwks`;

  const doctor = ['doctor', ...on(server.store), ...rulesOf(issuer)];
  assert.match((await runHere(doctor)).stdout, /error +issuer +cannot read .*certificate/);
  const trusting = await runProgram(doctor, { NODE_EXTRA_CA_CERTS: authority.root });
  assert.match(trusting.stdout, /ok +issuer +https:.* has 1 keys/);
});
