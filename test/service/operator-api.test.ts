import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import type { History, Overview, Token, TokenList } from '../../src/ops/contract.ts';
import {
  refusalsBySender,
  refusalsOfSender,
  refusedSenders,
} from '../../src/ops/history-figures.ts';
import { pause } from '../helpers/pause.ts';
import {
  create,
  token as fixedToken,
  type Owner,
  oneThread,
  type RunningServer,
  startServer,
  startServerOnNewStore,
  storePath,
} from '../helpers/program.ts';
import { connectRaw } from '../helpers/raw.ts';
import { runHere } from '../helpers/run-here.ts';
import { addPlants, addTokens, alterStore, openStoreAt } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: what is in it, the tests say.
  readonly body: any;
  readonly headers: Headers;
}

/** Asks the API as a program does that has the cookie. */
async function ask(
  server: RunningServer,
  request: string,
  { cookie = '', json, ...rest }: Asked = {},
): Promise<Answer> {
  const [method = '', path = ''] = request.split(' ');
  const type: Record<string, string> =
    json === undefined ? {} : { 'Content-Type': 'application/json' };
  const reply = await fetch(`${server.opsUrl}api${path}`, {
    method,
    headers: { Cookie: cookie, ...type, ...rest.headers },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
  const text = await reply.text();
  return {
    status: reply.status,
    body: text === '' ? undefined : JSON.parse(text),
    headers: reply.headers,
  };
}

interface Asked {
  readonly cookie?: string;
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** @returns the cookie */
async function signIn(server: RunningServer, token: string): Promise<string> {
  const { status, body, headers } = await ask(server, 'POST /session', { json: { token } });
  assert.equal(status, 200, JSON.stringify(body));
  return /^[^;]+/.exec(headers.get('Set-Cookie') ?? '')?.[0] ?? assert.fail('no cookie');
}

function secretIn(cookie: string): string {
  return cookie.slice(cookie.indexOf('=') + 1);
}

/** The same session at the address of another server. */
function cookieFor({ opsUrl }: RunningServer, secret: string): string {
  return `plant_store_session_${new URL(opsUrl).port}=${secret}`;
}

/** A server on a store of its own, with an operator who has signed in. */
async function startSignedIn(t: Owner, ...args: string[]) {
  const store = await storePath(t);
  const token = await storedToken(store, 'alice', { role: 'operate' });
  const server = await startServer(t, store, args);
  return { store, token, server, cookie: await signIn(server, token) };
}

/** For tests that leave nothing behind that another could find. */
const shared = await startSignedIn({ after });

/** A second operator who has signed in there. */
async function signInToShared(name: string) {
  return {
    ...shared,
    cookie: await signIn(shared.server, await storedToken(shared.store, name, { role: 'operate' })),
  };
}

/** A second service at the same host, for searches and for guesses at tokens. */
const large = await startSignedIn({ after }, ...oneThread);
addPlants(large.store, 300_000);
alterStore(large.store, "UPDATE plants SET name = 'Wollemia' WHERE id IN (5, 299999)");

/** For tests that count the sessions, the tokens or the creates of one service. */
const own = await startSignedIn({ after }, ...oneThread, '--log-level', 'debug');

const errorOf = ({ status, body }: Answer) => [status, body?.error];

test('an operator signs in with his token, and out again, and then the cookie is worth nothing', async () => {
  const { server, token } = shared;
  const cookie = await signIn(server, token);

  const { headers } = await ask(server, 'POST /session', { json: { token: ` ${token}\n` } });
  assert.match(
    headers.get('Set-Cookie') ?? '',
    /^plant_store_session_[0-9]+=[A-Za-z0-9_-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
  );
  assert.equal(headers.get('Cache-Control'), 'no-store');
  const known = await ask(server, 'GET /session', { cookie });
  assert.deepEqual([known.status, known.body], [200, { name: 'alice' }]);
  assert.equal((await ask(server, 'DELETE /session', { cookie })).status, 204);

  assert.deepEqual(errorOf(await ask(server, 'GET /session', { cookie })), [401, 40150]);
});

test('behind a proxy with TLS, the cookie is only sent over TLS', async () => {
  const { server, token } = shared;
  const origin = new URL(server.opsUrl).origin.replace('http:', 'https:');
  const { status, headers } = await ask(server, 'POST /session', {
    json: { token },
    headers: { Origin: origin },
  });
  assert.equal(status, 200);
  assert.match(headers.get('Set-Cookie') ?? '', /; Secure;/);
});

test('without a session, nothing is answered but the sign-in', async () => {
  const { server } = shared;
  const others = [
    'GET /session',
    'DELETE /session',
    'GET /overview',
    'GET /plants',
    'GET /plants/1',
    'GET /requests',
    'GET /requests/1-1',
    'GET /tokens',
    'POST /tokens',
  ];
  const ofAlice = ['PATCH /tokens?name=alice', 'DELETE /tokens?name=alice'];
  for (const request of [...others, ...ofAlice, 'GET /samples', 'GET /nothing']) {
    assert.deepEqual(errorOf(await ask(server, request)), [401, 40150], request);
    assert.deepEqual(
      errorOf(await ask(server, request, { cookie: cookieFor(server, 'A'.repeat(43)) })),
      [401, 40150],
      request,
    );
  }
});

test('no sign-in with a token for creates, with a revoked token or with the fixed token', async () => {
  const { server, store } = shared;
  const revoked = await storedToken(store, 'bob', { role: 'operate' });
  alterStore(store, "UPDATE tokens SET revoked_at = 1 WHERE name = 'bob'");
  const expired = await storedToken(store, 'eve', { role: 'operate', validMs: 1 });
  const refused: readonly [string, number, number][] = [
    [await storedToken(store, 'app'), 403, 40350],
    [revoked, 401, 40151],
    [expired, 401, 40151],
    [fixedToken, 401, 40151],
  ];
  for (const [token, ...expected] of refused)
    assert.deepEqual(errorOf(await ask(server, 'POST /session', { json: { token } })), expected);
});

test('whose token is revoked is signed out', async () => {
  const { server, store, cookie } = await signInToShared('leaver');
  assert.equal((await ask(server, 'GET /overview', { cookie })).status, 200);
  assert.equal(
    (await runHere(['token', 'revoke', 'leaver', '--store', `sqlite:${store}`])).code,
    0,
  );
  assert.deepEqual(errorOf(await ask(server, 'GET /overview', { cookie })), [401, 40150]);
});

test('a session outlives a restart, holds on another server on the same store, and ends after its time', async (t) => {
  const { server, store, cookie } = await startSignedIn(t, ...oneThread);
  const other = await startServer(t, store, oneThread);
  assert.equal(
    (await ask(other, 'GET /session', { cookie: cookieFor(other, secretIn(cookie)) })).status,
    200,
  );
  await other.stop();
  assert.equal(await server.stop(), 0);

  const next = await startServer(t, store, oneThread);
  const nextCookie = cookieFor(next, secretIn(cookie));
  assert.equal((await ask(next, 'GET /session', { cookie: nextCookie })).status, 200);
  alterStore(store, `UPDATE sessions SET expires_at = ${Date.now()}`);
  assert.deepEqual(errorOf(await ask(next, 'GET /session', { cookie: nextCookie })), [401, 40150]);
});

test('who signs in to a second service at the same host stays signed in to the first', async () => {
  const [one, other] = [shared, { ...large, cookie: await signIn(large.server, large.token) }];
  const { headers } = await ask(other.server, 'DELETE /session', {
    cookie: `${one.cookie}; ${other.cookie}`,
  });
  assert.notEqual(
    one.cookie.split('=')[0],
    other.cookie.split('=')[0],
    'one takes the place of the other',
  );
  assert(headers.get('Set-Cookie')?.startsWith(`${other.cookie.split('=')[0]}=;`));
  assert.equal((await ask(one.server, 'GET /session', { cookie: one.cookie })).status, 200);
});

test('the store holds no session that could be used, and neither does the log', async () => {
  const { server, store, cookie } = own;
  const secret = secretIn(cookie);
  using db = new DatabaseSync(store, { readOnly: true });
  const rows = db.prepare('SELECT hash FROM sessions').all();
  assert.equal(rows.length, 1);
  const hash = rows[0]?.['hash'] as Uint8Array;
  assert.equal(hash.length, 32);
  assert(!Buffer.from(secret, 'base64url').equals(hash));
  await server.logged((stderr) => stderr.includes('signed in to the console'));
  assert(!server.stderr().includes(secret));
});

test('after a handful of wrong tokens there is 429, and a right one still signs in', async () => {
  const { server, token } = large;
  const guess = () => ask(server, 'POST /session', { json: { token: `ps_${'A'.repeat(43)}` } });
  let refused = await guess();
  let wrong = 0;
  for (; refused.status === 401; refused = await guess()) wrong += 1;

  assert.deepEqual(errorOf(refused), [429, 42950]);
  assert(wrong >= 5 && wrong <= 10, `${wrong} were tried`);
  const seconds = Number(refused.headers.get('Retry-After'));
  assert(seconds >= 1 && seconds <= 5, `${seconds} s`);
  await signIn(server, token);
});

test('what another site has a browser send changes nothing', async () => {
  const { server, cookie } = await signInToShared('target');
  const tokens = async () =>
    (await ask(server, 'GET /tokens', { cookie })).body.tokens.map(nameAndState);
  const before = await tokens();
  assert.deepEqual(before.at(-1), ['target', 'valid']);
  const foreign: readonly Readonly<Record<string, string>>[] = [
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site' },
    { Origin: 'https://evil.example' },
    { Origin: 'null' },
    { Origin: server.opsUrl.replace(/:\d+\/$/, ':1') },
  ];
  for (const headers of foreign) {
    const asked = {
      cookie,
      headers,
      json: { name: 'stolen', role: 'operate', expiresInDays: null },
    };
    assert.deepEqual(
      errorOf(await ask(server, 'POST /tokens', asked)),
      [403, 40301],
      JSON.stringify(headers),
    );
    assert.deepEqual(
      errorOf(await ask(server, 'DELETE /tokens?name=target', { cookie, headers })),
      [403, 40301],
    );
    assert.deepEqual(
      errorOf(await ask(server, 'DELETE /session', { cookie, headers })),
      [403, 40301],
    );
  }
  const own = { 'Sec-Fetch-Site': 'same-origin', Origin: new URL(server.opsUrl).origin };
  assert.deepEqual(await tokens(), before);
  assert.equal((await ask(server, 'DELETE /session', { cookie, headers: own })).status, 204);
});

const nameAndState = ({ name, state }: { name: string; state: string }) => [name, state];

test('a body that is not JSON, not an object or too large is refused, and so are unknown paths and methods', async () => {
  const { server, cookie } = shared;
  const post = async (body: string, type = 'application/json') => {
    const reply = await fetch(`${server.opsUrl}api/tokens`, {
      method: 'POST',
      headers: { Cookie: cookie, 'Content-Type': type },
      body,
    });
    return [reply.status, ((await reply.json()) as { error: number }).error];
  };
  assert.deepEqual(await post('{}', 'text/plain'), [415, 41500]);
  assert.deepEqual(await post('{"name"'), [400, 40000]);
  assert.deepEqual(await post('[]'), [400, 40050]);
  assert.deepEqual(await post(JSON.stringify({ name: 'x'.repeat(17_000) })), [413, 41300]);
  assert.deepEqual(errorOf(await ask(server, 'GET /nothing', { cookie })), [404, 40400]);
  const wrongMethod = await ask(server, 'PUT /tokens', { cookie });
  assert.deepEqual(errorOf(wrongMethod), [405, 40500]);
  assert.equal(wrongMethod.headers.get('Allow'), 'GET, HEAD, POST, PATCH, DELETE');
});

test('a body that breaks off is no error of the service', async (t) => {
  const server = await startServerOnNewStore(t, ...oneThread);
  const raw = await connectRaw(t, Number(new URL(server.opsUrl).port));
  raw.send(
    'POST /api/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n{',
  );
  // It is being read.
  assert.equal((await raw.reply()).status, 100);
  raw.socket.resetAndDestroy();
  assert.equal((await ask(server, 'GET /session')).status, 401);
  assert.equal(await server.stop(), 0);
  assert.doesNotMatch(server.stderr(), /ERROR|"level":"error"/);
});

test('a token made in the console creates plants within 2 seconds, is listed, and is refused once it is revoked', async () => {
  const { server, cookie } = shared;
  const wish = { name: 'app/1%', role: 'create', expiresInDays: 30 };

  const made = await ask(server, 'POST /tokens', { cookie, json: wish });

  assert.equal(made.status, 201);
  assert.match(made.body.token, /^ps_[A-Za-z0-9_-]{43}$/);
  const bearer = { Authorization: `Bearer ${made.body.token}` };
  await untilStatus(200, () => create(server.plantsUrl, { id: 11, name: 'Alder' }, bearer));
  const listed = (await ask(server, 'GET /tokens', { cookie })).body.tokens.at(-1);
  assert.deepEqual(
    [listed.name, listed.role, listed.state, listed.revokedAt, listed.createdBy],
    ['app/1%', 'create', 'valid', null, 'alice'],
  );
  assert.equal(Date.parse(listed.expiresAt) - Date.parse(listed.createdAt), 30 * 86_400_000);
  assert.deepEqual(
    errorOf(await ask(server, 'POST /tokens', { cookie, json: wish })),
    [409, 40900],
  );

  const path = `/tokens?name=${encodeURIComponent('app/1%')}`;
  assert.equal((await ask(server, `DELETE ${path}`, { cookie })).status, 204);
  assert.deepEqual(errorOf(await ask(server, `DELETE ${path}`, { cookie })), [404, 40450]);
  const { createdBy, revokedBy } = (await ask(server, 'GET /tokens', { cookie })).body.tokens.at(
    -1,
  );
  assert.deepEqual([createdBy, revokedBy], ['alice', 'alice']);
  await untilStatus(401, () => create(server.plantsUrl, { id: 12, name: 'Birch' }, bearer));
  await server.logged((stderr) =>
    /"operator":"alice","token":"app\/1%".*a token was revoked/.test(stderr),
  );
  assert(!server.stderr().includes(made.body.token));
});

test('a secret tells whose it is, also once it is revoked', async () => {
  const { server, cookie, store } = shared;
  const secret = await storedToken(store, 'found');
  const inspect = (json: unknown) => ask(server, 'POST /tokens/inspection', { cookie, json });
  const { status, body } = await inspect({ token: secret });
  assert.deepEqual(
    [status, body.name, body.role, body.state, body.lastUsedAt],
    [200, 'found', 'create', 'valid', null],
  );
  assert(!JSON.stringify(body).includes(secret));
  assert.equal((await ask(server, 'DELETE /tokens?name=found', { cookie })).status, 204);
  assert.equal((await inspect({ token: secret })).body.state, 'revoked');
  assert.deepEqual(errorOf(await inspect({ token: `${secret}x` })), [404, 40450]);
  assert.deepEqual(errorOf(await inspect({})), [400, 40050]);
  assert(!server.stderr().includes(secret));
});

test('a token is rotated in the console: both secrets are listed with figures of their own until the grace is over', async () => {
  const { server, cookie, store } = shared;
  const old = await storedToken(store, 'turning', { validMs: 10 * 86_400_000 });
  const send = (token: string, id: number) =>
    create(server.plantsUrl, { id, name: 'Fir' }, { Authorization: `Bearer ${token}` });
  assert.equal((await send(old, 21)).status, 200);
  const rotate = (json: unknown) => ask(server, 'POST /tokens/rotation', { cookie, json });

  const wish = { name: 'turning', graceHours: 1.5, expiresInDays: 30 };
  const { status, body } = await rotate(wish);
  assert.equal(status, 201);
  const inMs = (time: string) => Math.round((Date.parse(time) - Date.now()) / 60_000) * 60_000;
  assert.deepEqual(
    [body.name, inMs(body.previousUntil), inMs(body.expiresAt)],
    ['turning', 1.5 * 3_600_000, 30 * 86_400_000],
  );
  assert.equal((await send(body.token, 22)).status, 200);
  assert.equal((await send(body.token, 21.5)).status, 400);

  const list = async () => {
    const { tokens } = (await ask(server, 'GET /tokens', { cookie })).body;
    return (tokens as Token[]).filter(({ name }) => name === 'turning');
  };
  // Each thread tells once a second what it has counted.
  const areTold = (tokens: Token[]) =>
    tokens[0]?.figures?.created && tokens[1]?.figures?.created && tokens[1].figures.refused;
  let told = await list();
  for (; !areTold(told); told = await list()) await pause();
  const [before, now] = told;
  assert(before?.figures && now?.figures);
  assert.deepEqual(
    [before, now].map(({ createdBy, revokedBy }) => [createdBy, revokedBy]),
    [
      [null, null],
      ['alice', null],
    ],
  );
  assert.deepEqual(
    [before.state, before.expiresSoon, before.figures.created, before.figures.refused],
    ['rotated', false, 1, 0],
  );
  assert.deepEqual(
    [now.state, now.expiresSoon, now.figures.created, now.rotatedAt],
    ['valid', false, 1, null],
  );
  const [{ code, when, count } = assert.fail()] = now.figures.refusals;
  assert.deepEqual([code, count], [40002, 1]);
  assert.match(when, /is not an int64/);

  const wrong = [{ ...wish, graceHours: -1 }, { name: 'turning' }, { ...wish, expiresInDays: 0 }];
  for (const one of [...wrong, { graceHours: 1 }])
    assert.deepEqual(errorOf(await rotate(one)), [400, 40050]);
  assert.deepEqual(errorOf(await rotate({ ...wish, name: 'nobody' })), [404, 40450]);
  await server.logged((stderr) =>
    /"operator":"alice","token":"turning".*a token was rotated/.test(stderr),
  );
  assert(!server.stderr().includes(body.token));
});

test('a token whose end is near is shown to the operator, and so are callers without a token of the store', async (t) => {
  const store = await storePath(t);
  const names = ['for good', 'until tomorrow', 'until summer'];
  for (const [index, days] of [undefined, 1, 15].entries())
    await storedToken(store, names[index]?.replace(' ', '-') ?? '', {
      ...(days ? { validMs: days * 86_400_000 } : {}),
    });
  const operator = await storedToken(store, 'alice', { role: 'operate' });
  const server = await startServer(t, store, oneThread, { PLANT_STORE_TOKEN: fixedToken });
  const cookie = await signIn(server, operator);
  assert.equal((await create(server.plantsUrl, { id: 1, name: 'Fir' })).status, 200);

  const overview = (await ask(server, 'GET /overview', { cookie })).body as Overview;
  assert.deepEqual(
    overview.expiringTokens.map(({ name, lastUsedAt }) => [name, lastUsedAt]),
    [['until-tomorrow', null]],
  );
  const list = async () => (await ask(server, 'GET /tokens', { cookie })).body as TokenList;
  assert.deepEqual(
    (await list()).tokens.map(({ expiresSoon }) => expiresSoon),
    [false, true, false, false],
  );
  while ((await list()).otherCallers.length === 0) await pause();
  const [{ name, kind, figures } = assert.fail()] = (await list()).otherCallers;
  assert.deepEqual([name, kind, figures.created], ['environment', 'fixed token', 1]);
});

test('a token can be revoked whatever its name is', async () => {
  const { server, cookie } = shared;
  for (const name of ['.', '..', '%2e%2e', 'a?b#c&d=/', '__proto__', '+']) {
    assert.equal(
      (await ask(server, 'POST /tokens', { cookie, json: { name, role: 'create' } })).status,
      201,
      name,
    );
    assert.equal(
      (await ask(server, `DELETE /tokens?name=${encodeURIComponent(name)}`, { cookie })).status,
      204,
      name,
    );
  }
  assert.deepEqual(errorOf(await ask(server, 'DELETE /tokens', { cookie })), [404, 40450]);
});

test('a token is made with a rate, and its rate is changed and taken away within 2 seconds', async () => {
  const { server, cookie } = shared;
  const name = 'slow/1%';
  const wish = { name, role: 'create', rate: '2/d', burst: 1 };
  const made = await ask(server, 'POST /tokens', { cookie, json: wish });
  assert.equal(made.status, 201);
  const bearer = { Authorization: `Bearer ${made.body.token}` };
  const send = () => create(server.plantsUrl, { id: 31, name: 'Yew' }, bearer);
  assert.deepEqual([(await send()).status, (await send()).status], [200, 429]);

  const path = `/tokens?name=${encodeURIComponent(name)}`;
  const change = async (json: unknown, to = path) => ask(server, `PATCH ${to}`, { cookie, json });
  const listed = async () => {
    const { tokens } = (await ask(server, 'GET /tokens', { cookie })).body as TokenList;
    const found = tokens.find((token) => token.name === name);
    return [found?.rate, found?.burst];
  };
  assert.deepEqual(await listed(), ['2/d', 1]);
  const changes = [
    [{ rate: '60/m' }, { rate: '1/s', burst: 60 }],
    [
      { rate: '60/m', burst: 100_000_000 },
      { rate: '1/s', burst: 100_000_000 },
    ],
    [{ rate: null }, { rate: null, burst: null }],
  ];
  for (const [wish, expected] of changes) {
    const { status, body } = await change(wish);
    assert.deepEqual([status, body], [200, { name, ...expected }]);
    assert.deepEqual(await listed(), [expected?.rate, expected?.burst]);
  }
  await untilStatus(200, send);

  const wrong = [{}, { rate: 5 }, { rate: '5' }, { rate: null, burst: 5 }, { burst: 5 }];
  for (const one of wrong) assert.deepEqual(errorOf(await change(one)), [400, 40050]);
  const { body } = await change({ rate: '100 /s' });
  assert.equal(
    body.message,
    'A rate must be a number of creates in a time, such as 100/s, 60/m, 1000/h or 10/d.',
  );
  for (const to of ['/tokens', '/tokens?name=nobody'])
    assert.deepEqual(errorOf(await change({ rate: '1/s' }, to)), [404, 40450]);
  await server.logged((stderr) =>
    /"operator":"alice","token":"slow\/1%","rate":"1\/s","burst":60.*the rate of a token was changed/.test(
      stderr,
    ),
  );
});

/** For a minute at most. */
async function untilStatus(status: number, send: () => Promise<Response>): Promise<void> {
  const signal = AbortSignal.timeout(60_000);
  while ((await send()).status !== status) await pause(signal);
}

test('a token that is wished for wrongly is not made, and it is said why', async () => {
  const { server, store, cookie } = own;
  const good = { name: 'app', role: 'create', expiresInDays: null };
  const wrong: readonly object[] = [
    { name: 'two words' },
    { name: 'environment' },
    { name: 'import' },
    { name: '' },
    { name: 'x'.repeat(101) },
    { name: 7 },
    { role: 'admin' },
    { role: undefined },
    { expiresInDays: 0 },
    { expiresInDays: '30' },
    { expiresInDays: 1e9 },
    { rate: '100' },
    { rate: 100 },
    { rate: '0/s' },
    { burst: 5 },
    { burst: 0, rate: '1/s' },
    { burst: 1.5, rate: '1/s' },
    { burst: 100_000_001, rate: '1/s' },
    { burst: '5', rate: '1/s' },
  ];
  for (const part of wrong) {
    const refused = await ask(server, 'POST /tokens', { cookie, json: { ...good, ...part } });
    assert.deepEqual(errorOf(refused), [400, 40050], JSON.stringify(part));
    assert.match(refused.body.message, new RegExp(Object.keys(part)[0] as string));
  }
  addTokens(store, 999, 'valid');
  assert.deepEqual(
    errorOf(await ask(server, 'POST /tokens', { cookie, json: good })),
    [409, 40901],
  );
});

test('of tokens that are valid no more the last thousand are listed, and it is said how many there are besides', async () => {
  const { server, store, cookie } = shared;
  const list = async () =>
    (await ask(server, 'GET /tokens', { cookie })).body as {
      tokens: { name: string }[];
      leftOut: number;
    };
  const before = await list();
  addTokens(store, 1_500, 'past');

  const { tokens, leftOut } = await list();

  const names = tokens.map(({ name }) => name);
  assert(leftOut >= 500 && names.length === before.tokens.length + 1_500 - leftOut);
  assert.deepEqual(
    names.slice(-1_000),
    Array.from({ length: 1_000 }, (_, index) => `past${501 + index}`),
  );
  assert(names.includes('alice'));
});

test('plants are found by name and tag among hundreds of thousands, also a rare one, step by step', async () => {
  const { server, cookie } = large;
  const search = async (query: string) =>
    (await ask(server, `GET /plants?${query}`, { cookie })).body;

  const first = await search('limit=3');
  const came = { createdAt: '1970-01-01T00:00:01.000Z', createdBy: 'environment' };
  assert.deepEqual(first, {
    plants: [
      { id: '1', name: 'xxxxxxxxxx1', tag: 'odd', ...came },
      { id: '2', name: 'xxxxxxxxxx2', ...came },
      { id: '3', name: 'xxxxxxxxxx3', tag: 'odd', ...came },
    ],
    next: '3',
    reachedAt: null,
  });
  assert.equal((await search('')).plants.length, 50);
  assert.equal((await search('name=&tag=&after=&limit=200')).plants.length, 200);
  assert.deepEqual((await search('tag=odd&after=100&limit=1')).plants.map(idOf), ['101']);
  assert.deepEqual((await search('name=x29999&tag=odd&limit=2&after=299992')).plants.map(idOf), [
    '299993',
    '299995',
  ]);

  const found: string[] = [];
  let step = await search('name=Wollemia');
  for (; step.next !== null; step = await search(`name=Wollemia&after=${step.next}`))
    found.push(...step.plants.map(idOf));
  found.push(...step.plants.map(idOf));
  assert.deepEqual(found, ['5', '299999']);
  assert.equal(step.next, null);
});

test('plants that match are counted step by step', async () => {
  const { server, cookie } = large;
  const part = async (query: string) =>
    (await ask(server, `GET /plants/count?${query}`, { cookie })).body;
  const count = async (query: string) => {
    let plants = 0;
    for (let next: string | null = ''; next !== null; ) {
      const step = await part(`${query}&after=${next}`);
      plants += step.plants;
      next = step.next;
    }
    return plants;
  };
  assert.equal(await count(''), 300_000);
  assert.equal(await count('tag=odd'), 150_000);
  assert.equal(await count('name=wollemia&ignoreCase=true'), 2);
  assert.equal(await count('createdBy=import'), 0);
  assert.equal((await part('tag=odd')).byCreator, undefined);
  for (let next: string | null = ''; next !== null; ) {
    const step = await part(`byCreator=true&after=${next}`);
    assert.deepEqual(step.byCreator, step.plants === 0 ? {} : { environment: step.plants });
    next = step.next;
  }
  for (const query of ['after=x', 'since=yesterday', 'byCreator=1'])
    assert.equal((await part(query)).error, 40_051);
});

test('a search for the newest plants tells the time that it has reached, until its end', async () => {
  const { server, cookie } = shared;
  for (const id of [71, 72]) await create(server.plantsUrl, { id, name: 'Rowan' });
  const search = async (query: string) =>
    (await ask(server, `GET /plants?order=newest&name=Rowan&${query}`, { cookie })).body;
  const page = await search('limit=1');
  assert.deepEqual(page.plants.map(idOf), ['72']);
  assert.equal(page.reachedAt, page.plants[0].createdAt);
  const last = await search(`limit=1&before=${page.next}`);
  assert.deepEqual([last.plants.map(idOf), last.next, last.reachedAt], [['71'], null, null]);
});

const idOf = ({ id }: { id: string }) => id;

test('searches beyond the limit of waiting searches get 503, and all further searches are answered', async () => {
  const { server, cookie } = large;
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => ask(server, 'GET /plants?name=none', { cookie })),
  );
  const statuses = answers.map(({ status }) => status);
  assert.deepEqual([...new Set(statuses)].sort(), [200, 503]);
  assert(statuses.filter((status) => status === 200).length >= 16, `${statuses}`);
});

test('a plant is shown with when it came and by which token; its id is exact', async () => {
  const { server, cookie } = shared;
  await create(server.plantsUrl, '{"id":9223372036854775807,"name":"Alder","tag":"Alnus"}');
  const { status, body } = await ask(server, 'GET /plants/9223372036854775807', { cookie });
  assert.equal(status, 200);
  const { createdAt, ...plant } = body;
  assert.deepEqual(plant, {
    id: '9223372036854775807',
    name: 'Alder',
    tag: 'Alnus',
    createdBy: 'environment',
  });
  assert(Math.abs(Date.parse(createdAt) - Date.now()) < 60_000, createdAt);
  for (const id of ['1', '-5'])
    assert.deepEqual(errorOf(await ask(server, `GET /plants/${id}`, { cookie })), [404, 40450], id);
  for (const id of ['x', '9223372036854775808', '1.0']) {
    const { status, body } = await ask(server, `GET /plants/${id}`, { cookie });
    assert.deepEqual([status, body.error], [400, 40051], id);
    assert(body.message.startsWith(`"${id}" is not an integer within int64`), body.message);
  }
});

test('a search that asks for too much, or for nothing that there can be, is refused', async () => {
  const { server, cookie } = shared;
  for (const query of [
    'limit=0',
    'limit=201',
    'limit=x',
    'after=x',
    'after=9223372036854775808',
    `name=${'x'.repeat(1_001)}`,
    `createdBy=${'x'.repeat(1_001)}`,
    'since=yesterday',
    'until=2026-11-22T07:14:49',
    'since=2026-13-22T07:14:49Z',
    'since=2026-11-22T07:14:49Z&until=2026-11-22T07:14:49Z',
    'ignoreCase=1',
    'order=oldest',
    'order=newest&after=1',
    'before=1',
    'order=newest&before=yesterday',
  ]) {
    assert.deepEqual(
      errorOf(await ask(server, `GET /plants?${query}`, { cookie })),
      [400, 40051],
      query,
    );
  }
});

test('the samples tell apart what was stored, was there already, was taken, and was refused', async () => {
  const { server, cookie } = own;
  const oak = { id: 1, name: 'Oak' };
  for (const plant of [oak, oak, oak, { id: 1, name: 'Ash' }, '{'])
    await create(server.plantsUrl, plant);

  const kinds = ['created', 'same', 'taken', 'failed', 'refused'] as const;
  type Sample = Readonly<Record<`${(typeof kinds)[number]}PerSecond`, number>>;
  const counted = async () => {
    const { samples } = (await ask(server, 'GET /samples', { cookie })).body as {
      samples: readonly Sample[];
    };
    return kinds.map((kind) =>
      Math.round(samples.reduce((sum, sample) => sum + sample[`${kind}PerSecond`], 0)),
    );
  };
  let counts = await counted();
  for (const signal = AbortSignal.timeout(10_000); counts.at(-1) === 0; counts = await counted())
    await pause(signal);
  assert.deepEqual(counts, [1, 2, 1, 0, 1]);
});

test('the overview shows the store, its count and last backup, and the configuration as it was typed, without the fixed token', async (t) => {
  const { server, store, cookie } = await startSignedIn(
    t,
    ...oneThread,
    '--drain-timeout',
    '7s',
    '--reuse-port',
  );
  await create(server.plantsUrl, { id: 1, name: 'Alder' });
  const backup = `${store}.backup`;
  assert.equal((await runHere(['backup', backup, '--store', `sqlite:${store}`])).code, 0);
  await using writer = await openStoreAt(store);
  await writer.recordJob({ name: 'drill', atMs: 1_000, tookMs: 2_500 });
  await writer.recordJob({ name: 'drill', atMs: 3_000, tookMs: 1, fault: 'no backup' });

  const signal = AbortSignal.timeout(60_000);
  let { body } = await ask(server, 'GET /overview', { cookie });
  for (
    ;
    body.store.plants !== 1 || !body.ready;
    { body } = await ask(server, 'GET /overview', { cookie })
  )
    await pause(signal);

  assert.match(body.version, /^\d+\.\d+\.\d+/);
  assert(Date.parse(body.startedAt) <= Date.parse(body.store.countedAt));
  const createdBefore = body.store.createdSince;
  assert.equal((await create(server.plantsUrl, { id: 2, name: 'Ash' })).status, 200);
  const storeNow = async () => (await ask(server, 'GET /overview', { cookie })).body.store;
  // The answer of the same second is told again.
  while ((await storeNow()).createdSince !== createdBefore + 1) await pause(signal);
  assert.equal((await storeNow()).plants, 1);
  assert.deepEqual(
    body.checks.map(({ name, level }: { name: string; level: string }) => [
      name,
      level === 'error',
    ]),
    [
      ['writes', false],
      ['disk', false],
      ['queue', false],
      ['service', false],
    ],
  );
  assert.equal(body.store.location, `sqlite:${store}`);
  assert(
    body.store.plantsBytes >= 4_096 && body.store.logBytes >= 4_096 && body.store.freeBytes > 0,
    JSON.stringify(body.store),
  );
  const { file, isFileGone, plants } = body.backup;
  assert.deepEqual([file, isFileGone, plants], [backup, false, 1]);
  assert.deepEqual(body.jobs, [
    {
      name: 'drill',
      fault: 'no backup',
      ranAt: '1970-01-01T00:00:03.000Z',
      succeededAt: '1970-01-01T00:00:01.000Z',
      tookSeconds: 2.5,
    },
  ]);
  const settings = new Map(
    body.configuration.map((setting: { name: string }) => [setting.name, setting]),
  );
  assert.deepEqual(settings.get('drain-timeout'), {
    name: 'drain-timeout',
    value: '7s',
    default: '10s',
    inForce: null,
    source: 'flag',
  });
  assert.deepEqual(settings.get('commit-timeout'), {
    name: 'commit-timeout',
    value: '4s',
    default: '4s',
    inForce: null,
    source: 'default',
  });
  assert.deepEqual(settings.get('reuse-port'), {
    name: 'reuse-port',
    value: 'true',
    default: 'false',
    inForce: null,
    source: 'flag',
  });
  assert.deepEqual(settings.get('ops-port'), {
    name: 'ops-port',
    value: '0',
    default: '8081',
    inForce: new URL(server.opsUrl).port,
    source: 'variable',
  });
  assert.equal(settings.has('token-file'), false);
  assert(!JSON.stringify(body).includes(fixedToken));
});

test('when reading the store fails, searches get 503, the service goes on, and the next search works', async (t) => {
  const { server, store, cookie } = await startSignedIn(t, ...oneThread);
  await create(server.plantsUrl, { id: 1, name: 'Alder' });
  assert.equal((await ask(server, 'GET /plants', { cookie })).status, 200);
  // A search for plants then fails: there is no such table.
  alterStore(store, 'ALTER TABLE plants RENAME TO away');
  const answers = await Promise.all([1, 2, 3].map(() => ask(server, 'GET /plants', { cookie })));
  alterStore(store, 'ALTER TABLE away RENAME TO plants');

  for (const answer of answers) assert.deepEqual(errorOf(answer), [503, 50301]);
  assert.equal(answers[0]?.headers.get('Retry-After'), '1');
  await server.logged((stderr) =>
    /no such table.*the thread that reads the store has failed/.test(stderr),
  );
  assert.equal((await ask(server, 'GET /plants', { cookie })).body.plants.length, 1);
  assert.equal((await create(server.plantsUrl, { id: 2, name: 'Birch' })).status, 200);
  assert.equal(await server.stop(), 0);
});

test('the console has a page, whose scripts the browser can run, and no other file is served', async () => {
  const { server } = shared;
  const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    fetch(new URL(path, server.opsUrl), { headers });
  const page = await get('/');
  assert.equal(page.headers.get('Content-Type'), 'text/html; charset=utf-8');
  assert.match(
    page.headers.get('Content-Security-Policy') ?? '',
    /script-src 'self' 'sha256-[A-Za-z0-9+/]{43}=';/,
  );
  const [, script = ''] = /<script type="module" src="(.*?)"/.exec(await page.text()) ?? [];

  const module = await get(script);
  assert.equal(module.headers.get('Content-Type'), 'text/javascript; charset=utf-8');
  assert.equal(
    (await get(script, { 'If-None-Match': module.headers.get('ETag') ?? '' })).status,
    304,
  );
  const folder = new URL('../../src/ops/console/page/', import.meta.url);
  const sources = readdirSync(folder).filter((name) => name.endsWith('.ts'));
  let typed = 0;
  for (const name of sources) {
    const served = await (await get(`/console/${name}`)).text();
    assert.equal(stripTypeScriptTypes(served), served, name);
    if (served !== readFileSync(new URL(name, folder), 'utf8')) typed += 1;
  }
  assert(typed > 0);
  for (const path of [
    '/console/',
    '/console/tsconfig.json',
    '/console/..%2ffiles.ts',
    '/console/lib/none.js',
    '/index.html',
    '/version.ts',
  ]) {
    assert.equal((await get(path)).status, 404, path);
  }
});

test('the history of a service outlives its restart, and the overview counts by outcome and code', async (t) => {
  const { store, token, server, cookie } = await startSignedIn(t, ...oneThread);
  const plants = [
    { id: 1, name: 'Alder' },
    { id: 1, name: 'Alder' },
    { id: 1 },
    { id: 1, name: 'Ash' },
  ];
  for (const plant of plants) await create(server.plantsUrl, plant);
  const { creates, refusals } = (await ask(server, 'GET /overview', { cookie })).body as Overview;
  const once = { total: 1, lastMinute: 1 };
  assert.deepEqual(creates, {
    created: once,
    same: once,
    taken: once,
    failed: { total: 0, lastMinute: 0 },
  });
  assert.deepEqual(refusals, [
    { code: 40001, ...once },
    { code: 40004, ...once },
  ]);
  await server.stop();

  const restarted = await startServer(t, store, oneThread);
  const again = { cookie: await signIn(restarted, token) };
  const history = async (query = '') => (await ask(restarted, `GET /history${query}`, again)).body;
  const { minutes } = (await history()) as History;
  const [minute] = minutes;
  assert(minute && minutes.length <= 2);
  const sum = (name: 'created' | 'same' | 'taken' | 'refused') =>
    minutes.reduce((total, of) => total + of[name], 0);
  assert.deepEqual([sum('created'), sum('same'), sum('taken'), sum('refused')], [1, 1, 1, 1]);
  const codes = minutes.flatMap(({ refusals }) => Object.entries(refusals)).sort();
  assert.deepEqual(codes, [
    ['40001', 1],
    ['40004', 1],
  ]);
  assert(minutes.some(({ hasStart }) => hasStart));
  assert(minutes.some(({ p99Ms }) => p99Ms !== null && p99Ms > 0));
  const later = (await history(`?after=${Date.now()}`)) as History;
  assert.deepEqual([later.minutes, later.begun.hasStart, later.begun.created], [[], true, 0]);
  const wrong = await ask(restarted, 'GET /history?after=yesterday', again);
  assert.deepEqual(
    [wrong.status, wrong.body.message],
    [400, '`after` must be a time in milliseconds.'],
  );
});

test('the overview names the clients that get refusals only', async (t) => {
  const { store, server, cookie } = await startSignedIn(t, ...oneThread);
  const [broken, sound] = await Promise.all([
    storedToken(store, 'broken'),
    storedToken(store, 'sound'),
  ]);
  const send = (secret: string, plant: object) =>
    create(server.plantsUrl, plant, { Authorization: `Bearer ${secret}` });
  await send(broken, { id: 1 });
  await send(broken, { id: 1.5, name: 'Alder' });
  await send(broken, { id: 2 });
  await send(sound, { id: 1 });
  await send(sound, { id: 1, name: 'Alder' });
  const refusedOnly = async () =>
    ((await ask(server, 'GET /overview', { cookie })).body as Overview).refusedOnly;
  // A thread tells once a second what it has counted.
  const told = async () =>
    (await refusedOnly()).map(({ name, refused, codes }) => `${name} ${refused} ${codes}`);
  while ((await told()).join() !== 'broken 3 40001,40002') await pause();
});

test('a revoked and an expired secret that are still in use have their names and figures everywhere', async (t) => {
  const store = await storePath(t);
  const alice = await storedToken(store, 'alice', { role: 'operate' });
  const old = await storedToken(store, 'nursery');
  alterStore(store, "UPDATE tokens SET revoked_at = 1 WHERE name = 'nursery'");
  await storedToken(store, 'nursery');
  const other = await storedToken(store, 'last-year', { validMs: 1 });
  const next = await storedToken(store, 'sound');
  const server = await startServer(t, store, ['--log-level', 'debug']);
  const cookie = await signIn(server, alice);
  const send = async (secret: string, id: number) =>
    (await create(server.plantsUrl, { id, name: 'Alder' }, { Authorization: `Bearer ${secret}` }))
      .status;
  const statuses = [];
  for (const secret of [old, old, old, other, next, 'ps_made-up'])
    statuses.push(await send(secret, 1));
  assert.deepEqual(statuses, [401, 401, 401, 401, 200, 401]);
  await server.logged((stderr) =>
    /"token":"last-year","reason":"The token is refused/.test(stderr),
  );

  const read = async (what: string) => (await ask(server, `GET /${what}`, { cookie })).body;
  const inUse = async () =>
    ((await read('overview')) as Overview).endedInUse.map(({ name, refused }) => [name, refused]);
  // Each thread tells once a second what it has counted.
  while (`${(await inUse()).sort()}` !== 'last-year,1,nursery,3') await pause();
  const overview = (await read('overview')) as Overview;
  assert.deepEqual(overview.refusedOnly, []);

  const { tokens } = (await read('tokens')) as TokenList;
  const figures = tokens
    .filter(({ name }) => ['nursery', 'last-year'].includes(name))
    .map(({ state, lastUsedAt, figures: of }) => [
      ...[state, lastUsedAt, of?.refused],
      of?.refusals.map(({ code, count }) => `${code}: ${count}`).join(),
    ]);
  assert.deepEqual(figures, [
    ['revoked', null, 3, '40101: 3'],
    ['valid', null, undefined, undefined],
    ['expired', null, 1, '40101: 1'],
  ]);

  const senders = async () => {
    const { begun, minutes } = (await read('history')) as History;
    return refusedSenders([...minutes, begun]).map(({ name, count }) => `${name} ${count}`);
  };
  // A minute that has just ended is being written.
  while ((await senders()).join() !== 'nursery 3,last-year 1') await pause();
  const { minutes, begun } = (await read('history')) as History;
  const ofNursery = refusalsOfSender([...minutes, begun], 'nursery');
  assert.deepEqual(
    ofNursery.map(({ code, count }) => [code, count]),
    [[40101, 3]],
  );
  const anonymous = refusalsBySender([...minutes, begun]).filter(({ name }) => name === null);
  assert.deepEqual(anonymous, [{ name: null, code: 40101, count: 1 }]);
  const metrics = await (await fetch(`${server.opsUrl}metrics`)).text();
  assert.match(metrics, /^plant_store_token_refusals_total\{token="nursery",code="40101"\} 3$/m);
  assert.doesNotMatch(metrics, /^plant_store_token_last_used_seconds\{token="nursery"/m);
});
