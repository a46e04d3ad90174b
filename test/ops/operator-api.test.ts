import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { limits } from '../../src/limits.ts';
import { openConsoleFiles } from '../../src/ops/console/files.ts';
import type {
  Overview,
  RefusalList,
  SampleColumns,
  SampleList,
  TokenList,
} from '../../src/ops/contract.ts';
import { withLimits } from '../helpers/faults.ts';
import { ask, signIn } from '../helpers/operators.ts';
import { until } from '../helpers/pause.ts';
import {
  create,
  token as fixedToken,
  oneThread,
  type RunningServer,
  runProgram,
  startServer,
} from '../helpers/program.ts';
import { connectRaw, rawRequest } from '../helpers/raw.ts';
import { done, on } from '../helpers/run-here.ts';
import { alterStore } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';
import { startWithOperator } from '../helpers/with-operator.ts';

function secretIn(cookie: string): string {
  return cookie.slice(cookie.indexOf('=') + 1);
}

/** The same session at the address of another server. */
function cookieFor({ opsUrl }: RunningServer, secret: string): string {
  return `plant_store_session_${new URL(opsUrl).port}=${secret}`;
}

/** A server on a store of its own, with an operator who has signed in. */
async function startSignedIn(...args: Parameters<typeof startWithOperator>) {
  const started = await startWithOperator(...args);
  return { ...started, cookie: await signIn(started.server, { token: started.token }) };
}

/** For tests that leave nothing behind that another could find. */
const shared = await startSignedIn({ after }, [], withLimits({ ops: { refusalsKept: 200 } }));

/** A second operator who has signed in there. */
async function signInToShared(name: string) {
  const token = await storedToken(shared.store, name, { role: 'operate' });
  return { ...shared, cookie: await signIn(shared.server, { token }) };
}

/** For tests that count the sessions, the tokens or the creates of one service, in their order. */
const beganMs = performance.now();
const own = await startSignedIn({ after }, ['--body-limit', '2000']);

/** The request is refused with the code, which begins with the status. */
async function refused(code: number, ...asked: Parameters<typeof ask>): Promise<void> {
  const { status, body } = await ask(...asked);
  const [, request, { headers } = {}] = asked;
  const what = `${request} ${JSON.stringify(headers)}`;
  assert.deepEqual([status, body?.error], [Math.floor(code / 100), code], what);
}

test('an operator signs in with his token, and out again, and then the cookie is worth nothing', async () => {
  const { server, token } = shared;
  const cookie = await signIn(server, { token });

  const { headers } = await ask(server, 'POST api/session', { json: { token: ` ${token}\n` } });
  assert.match(
    headers.get('Set-Cookie') ?? '',
    /^plant_store_session_[0-9]+=[A-Za-z0-9_-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
  );
  assert.equal(headers.get('Cache-Control'), 'no-store');
  const known = await ask(server, 'GET api/session', { cookie });
  assert.deepEqual([known.status, known.body], [200, { name: 'alice' }]);
  assert.equal((await ask(server, 'DELETE api/session', { cookie })).status, 204);

  await refused(40150, server, 'GET api/session', { cookie });
});

test('behind a proxy with TLS, the cookie is only sent over TLS', async () => {
  const { server, token } = shared;
  const origin = new URL(server.opsUrl).origin.replace('http:', 'https:');
  const { status, headers } = await ask(server, 'POST api/session', {
    json: { token },
    headers: { Origin: origin },
  });
  assert.equal(status, 200);
  assert.match(headers.get('Set-Cookie') ?? '', /; Secure$/);
});

test('without a session, nothing is answered but the sign-in, and nothing told of the store', async () => {
  const { server, store } = shared;
  const known = 'session overview plants plants/1 refusals configuration backups tokens samples';
  const requests = [
    ...[...known.split(' '), 'nothing'].map((path) => `GET api/${path}`),
    ...['POST api/backups', 'POST api/tokens'],
    ...['DELETE api/session', 'DELETE api/tokens?name=alice'],
  ];
  for (const request of requests) {
    await refused(40150, server, request);
    await refused(40150, server, request, { cookie: cookieFor(server, 'A'.repeat(43)) });
  }
  const guess = await ask(server, 'POST api/session', { json: { token: 'ps_wrong' } });
  for (const { body } of [guess, await ask(server, 'GET api/session')])
    assert(!body.message.includes(store) && body.message.includes('token create NAME'));
});

test('no sign-in with a token for creates, with a revoked token or with the fixed token', async () => {
  const { server, store } = shared;
  const revoked = await storedToken(store, 'bob', { role: 'operate' });
  alterStore(store, "UPDATE tokens SET revoked_at = 1 WHERE name = 'bob'");
  const expired = await storedToken(store, 'eve', { role: 'operate', validMs: 1 });
  const creating = await storedToken(store, 'app');
  await refused(40350, server, 'POST api/session', { json: { token: creating } });
  for (const token of [revoked, expired, fixedToken])
    await refused(40151, server, 'POST api/session', { json: { token } });
});

test('whose token is revoked is signed out', async () => {
  const { server, store, cookie } = await signInToShared('leaver');
  assert.equal((await ask(server, 'GET api/overview', { cookie })).status, 200);
  await done('token', 'revoke', 'leaver', ...on(store));
  await refused(40150, server, 'GET api/overview', { cookie });
});

test('the sign-in after twenty ends the oldest session of a token, and no other', async () => {
  const { server, store } = shared;
  const token = await storedToken(store, 'restless', { role: 'operate' });
  const cookies = [];
  for (let count = 0; count <= 20; count += 1) cookies.push(await signIn(server, { token }));
  const [first = '', second = ''] = cookies;
  await refused(40150, server, 'GET api/session', { cookie: first });
  assert.equal((await ask(server, 'GET api/session', { cookie: second })).status, 200);
});

test('what another site has a browser send changes nothing', async () => {
  const { server, cookie } = await signInToShared('target');
  const tokens = async () =>
    (await ask(server, 'GET api/tokens', { cookie })).body.tokens.map(nameAndState);
  const before = await tokens();
  assert.deepEqual(before.at(-1), ['target', 'valid']);
  const foreign: readonly Readonly<Record<string, string>>[] = [
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site' },
    { Origin: 'https://evil.example' },
    { Origin: 'null' },
    { Origin: server.opsUrl.replace(/:\d+\/$/, ':1') },
  ];
  const json = { name: 'stolen', role: 'operate', expiresInDays: null };
  for (const headers of foreign)
    for (const request of [
      'POST api/tokens',
      'DELETE api/tokens?name=target',
      'DELETE api/session',
    ])
      await refused(40301, server, request, { cookie, headers, json });
  const own = { 'Sec-Fetch-Site': 'same-origin', Origin: new URL(server.opsUrl).origin };
  assert.deepEqual(await tokens(), before);
  assert.equal((await ask(server, 'DELETE api/session', { cookie, headers: own })).status, 204);
});

const nameAndState = ({ name, state }: { name: string; state: string }) => [name, state];

test('a token made in the console creates plants within 2 seconds, is listed, and is refused once it is revoked', async () => {
  const { server, cookie } = shared;
  const wish = { name: 'app/1%', role: 'create', expiresInDays: 30 };

  const made = await ask(server, 'POST api/tokens', { cookie, json: wish });

  assert.equal(made.status, 201);
  assert.match(made.body.token, /^ps_[A-Za-z0-9_-]{43}$/);
  const bearer = { Authorization: `Bearer ${made.body.token}` };
  const send = () => create(server.plantsUrl, { id: 11, name: 'Alder' }, bearer);
  await until(send, ({ status }) => status === 200);
  const listed = (await ask(server, 'GET api/tokens', { cookie })).body.tokens.at(-1);
  const shown = [listed.name, listed.role, listed.state, listed.revokedAt, listed.createdBy];
  assert.deepEqual(shown, ['app/1%', 'create', 'valid', null, 'alice']);
  assert.equal(Date.parse(listed.expiresAt) - Date.parse(listed.createdAt), 30 * 86_400_000);
  await refused(40900, server, 'POST api/tokens', { cookie, json: wish });

  const path = `tokens?name=${encodeURIComponent('app/1%')}`;
  assert.equal((await ask(server, `DELETE api/${path}`, { cookie })).status, 204);
  await refused(40450, server, `DELETE api/${path}`, { cookie });
  await until(send, ({ status }) => status === 401);
  await server.logged((stderr) =>
    /"operator":"alice","token":"app\/1%".*a token was revoked/.test(stderr),
  );
  assert(!server.stderr().includes(made.body.token));
});

test('a plant is shown with when it came and by which token; its id is exact', async () => {
  const { server, cookie } = shared;
  await create(server.plantsUrl, '{"id":9223372036854775807,"name":"Alder","tag":"Alnus"}');
  const { status, body } = await ask(server, 'GET api/plants?id=9223372036854775807', { cookie });
  assert.equal(status, 200);
  const [{ createdAt, ...plant }] = body.plants;
  assert.deepEqual(plant, {
    id: '9223372036854775807',
    name: 'Alder',
    tag: 'Alnus',
    createdBy: 'environment',
  });
  assert(Math.abs(Date.parse(createdAt) - Date.now()) < 60_000, createdAt);
  for (const id of ['1', '-5']) {
    const { body } = await ask(server, `GET api/plants?id=${id}`, { cookie });
    assert.deepEqual(body.plants, [], id);
  }
  for (const id of ['x', '9223372036854775808', '1.0']) {
    const { status, body } = await ask(server, `GET api/plants?id=${id}`, { cookie });
    assert.deepEqual([status, body.error], [400, 40051], id);
    assert(body.message.startsWith('`id` must be an integer from -9223372036854775808'));
  }
  await refused(40051, server, 'GET api/plants?id=1&tag=Alnus', { cookie });
});

test('the console has a page, whose script the browser can run and keep, and no other file is served', async () => {
  const { server } = shared;
  const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    fetch(new URL(path, server.opsUrl), { headers });
  const page = await get('/');
  assert.equal(page.headers.get('Content-Type'), 'text/html; charset=utf-8');
  assert.equal(page.headers.get('Cache-Control'), 'no-cache');
  const unchanged = { 'If-None-Match': page.headers.get('ETag') ?? '' };
  assert.equal((await get('/', unchanged)).status, 304);

  const [, path = ''] = /<script type="module" src="(.*?)"/.exec(await page.text()) ?? [];
  const isBuilt = path.endsWith('.js');
  const policy = page.headers.get('Content-Security-Policy') ?? '';
  assert.match(policy, isBuilt ? /script-src 'self';/ : /script-src 'self' 'sha256-[^ ']{44}';/);
  const script = await get(path);
  assert.equal(script.headers.get('Content-Type'), 'text/javascript; charset=utf-8');
  const kept = isBuilt ? ['max-age=31536000, immutable', 'gzip'] : ['no-cache', null];
  const fields = ['Cache-Control', 'Content-Encoding'];
  assert.deepEqual(
    fields.map((name) => script.headers.get(name)),
    kept,
  );
  const plain = await get(path, { 'Accept-Encoding': 'gzip;q=0' });
  assert.equal(plain.headers.get('Content-Encoding'), null);
  const text = await plain.text();
  assert.equal(text, await script.text());
  assert.equal(stripTypeScriptTypes(text), text);
  for (const path of [
    '/console/',
    '/console/tsconfig.json',
    '/console/..%2ffiles.ts',
    '/console/app-00000000.js',
    '/index.html',
    '/version.ts',
  ]) {
    const { status, headers } = await get(path);
    assert.deepEqual([status, headers.get('Cache-Control')], [404, 'no-store'], path);
  }
});

test('the source serves each module of the console without its types', async () => {
  const { files } = openConsoleFiles();
  const request = {
    method: 'GET',
    url: new URL('http://localhost/'),
    query: {},
    fields: new Map(),
    body: Buffer.alloc(0),
    signal: new AbortController().signal,
  };
  const folder = new URL('../../src/ops/console/page/', import.meta.url);
  for (const name of readdirSync(folder).filter((one) => one.endsWith('.ts'))) {
    const served = `${(await files.get(`/console/${name}`)?.(request))?.body}`;
    assert.equal(stripTypeScriptTypes(served), served, name);
    assert.equal(served.length, readFileSync(new URL(name, folder), 'utf8').length, name);
  }
});

test('a rate is set and changed in the console', async () => {
  const { server, cookie } = shared;
  const made = { name: 'measured', role: 'create', expiresInDays: null, rate: '100/s:500' };
  assert.equal((await ask(server, 'POST api/tokens', { cookie, json: made })).status, 201);
  const rateNow = async () => {
    const { tokens } = (await ask(server, 'GET api/tokens', { cookie })).body as TokenList;
    const { rate, burst } = tokens.find(({ name }) => name === 'measured') ?? assert.fail();
    return [rate, burst];
  };
  assert.deepEqual(await rateNow(), ['100/s', 500]);
  for (const [rate, expected] of [
    ['10/d', ['10/d', 10]],
    [null, [null, null]],
  ]) {
    const json = { name: 'measured', rate };
    assert.equal((await ask(server, 'POST api/tokens/rate', { cookie, json })).status, 204);
    assert.deepEqual(await rateNow(), expected);
  }
  for (const json of [{ name: 'measured', rate: 'fast' }, { rate: '1/s' }])
    await refused(40050, server, 'POST api/tokens/rate', { cookie, json });
  const unknown = { name: 'nobody', rate: '1/s' };
  await refused(40450, server, 'POST api/tokens/rate', { cookie, json: unknown });
});

test('a token is rotated in the console: both secrets are listed with figures of their own until the grace is over', async () => {
  const { server, cookie, store } = shared;
  const rate = { perDay: 100 * 86_400, burst: 500 };
  const old = await storedToken(store, 'turning', { validMs: 10 * 86_400_000, rate });
  const send = (token: string, id: number) =>
    create(server.plantsUrl, { id, name: 'Fir' }, { Authorization: `Bearer ${token}` });
  assert.equal((await send(old, 21)).status, 200);
  const rotation = 'POST api/tokens/rotation';
  const wish = { name: 'turning', graceHours: 1.5, expiresInDays: 30 };
  const { status, body } = await ask(server, rotation, { cookie, json: wish });
  assert.equal(status, 201);
  const inHours = (time: string) => Math.round((Date.parse(time) - Date.now()) / 360_000) / 10;
  const told = [body.name, inHours(body.previousUntil), inHours(body.expiresAt)];
  assert.deepEqual(told, ['turning', 1.5, 720]);
  assert.equal((await send(body.token, 22)).status, 200);
  assert.equal((await send(body.token, 21.5)).status, 400);
  const list = async () => {
    const { tokens } = (await ask(server, 'GET api/tokens', { cookie })).body as TokenList;
    return tokens
      .filter(({ name }) => name === 'turning')
      .map((one) => [one.state, one.expiresSoon, one.rate, one.burst, one.figures]);
  };
  const expected = [
    ['rotated', false, '100/s', 500, { created: 1, refused: 0 }],
    ['valid', false, '100/s', 500, { created: 1, refused: 1 }],
  ];
  await until(list, (told) => JSON.stringify(told) === JSON.stringify(expected));
  const wrong = [{ ...wish, graceHours: -1 }, { name: 'turning' }, { ...wish, expiresInDays: 0 }];
  for (const json of wrong) await refused(40050, server, rotation, { cookie, json });
  const unknown = { ...wish, name: 'nobody' };
  await refused(40450, server, rotation, { cookie, json: unknown });
  assert(!server.stderr().includes(body.token));
});

test('refusals are told with their code, message and client, the last of them, and those after one', async (t) => {
  const { server, store, cookie } = await signInToShared('reader');
  const kiosk = { Authorization: `Bearer ${await storedToken(store, 'kiosk')}` };
  const list = async (after = '') =>
    ((await ask(server, `GET api/refusals?after=${after}`, { cookie })).body as RefusalList)
      .refusals;
  const secretName = { id: 'secret', name: 'a plant that nobody else may see' };
  const reply = await create(server.plantsUrl, secretName, kiosk);
  const requestId = reply.headers.get('X-Request-Id');
  const { message } = (await reply.json()) as { message: string };
  const ofKiosk = (all: RefusalList['refusals']) => all.find(({ token }) => token === 'kiosk');
  const { at, ...refusal } = ofKiosk(await until(list, (all) => ofKiosk(all) !== undefined)) ?? {
    at: '',
  };
  const expected = { requestId, code: 40001, message, token: 'kiosk', client: '127.0.0.1' };
  assert.deepEqual(refusal, expected);
  assert(Math.abs(Date.parse(at) - Date.now()) < 60_000);
  assert.doesNotMatch(JSON.stringify(await list()), /nobody else|ps_/);

  const { send, reply: next } = await connectRaw(t, server.port);
  send(...Array.from({ length: 200 }, () => rawRequest('{')));
  for (let replies = 0; replies < 200; replies += 1) assert.equal((await next()).status, 400);
  const last = await until(list, (all) => ofKiosk(all) === undefined && all.length === 200);
  const [first, second] = last.slice(-2);
  assert.deepEqual(await list(first?.requestId), [second]);
  assert.equal((await list(`${requestId}`)).length, 200);
});

const pageOf = ({ page }: Overview['attention'][number]) => page;

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

test('the overview counts creates and refusals, and tells what needs attention', async () => {
  const { server, store, cookie } = own;
  const names = ['ended', 'broken', 'sound', 'hasty', 'until-tomorrow'] as const;
  const [ended, broken, sound, hasty] = await Promise.all([
    storedToken(store, 'ended', { validMs: 1 }),
    storedToken(store, 'broken'),
    storedToken(store, 'sound'),
    storedToken(store, 'hasty', { rate: { perDay: 1, burst: 1 } }),
    storedToken(store, 'until-tomorrow', { validMs: 86_400_000 }),
  ]);
  const send = (secret: string, plant: unknown) =>
    create(server.plantsUrl, plant as object, { Authorization: `Bearer ${secret}` });
  const sampled = async () =>
    ((await ask(server, 'GET api/samples', { cookie })).body as SampleList).samples;
  await until(sampled, ({ atMs }) => atMs.length > 0);
  const oak = { id: 1, name: 'Oak' };
  for (const plant of [oak, oak, { id: 1, name: 'Ash' }]) await send(sound, plant);
  await send(broken, { id: 1 });
  await send(ended, oak);
  for (const id of [1, 2]) await send(hasty, { ...oak, id });

  const read = async () => (await ask(server, 'GET api/overview', { cookie })).body as Overview;
  const { attention, creates, refused } = await until(
    read,
    (overview) => overview.attention.length === 5 && overview.store.plants !== null,
  );
  assert.deepEqual(
    names.map((name) => attention.filter(({ says }) => says.includes(name)).map(pageOf)),
    [['/refusals?code=40101'], ['/refusals'], [], ['/refusals?code=42900'], ['/tokens']],
  );
  assert.match(attention[0]?.says ?? '', /no verified backup/);
  const levels = attention.map(({ level }) => level);
  assert.deepEqual(levels, ['warning', 'warning', 'note', 'note', 'note']);
  const tallies = Object.entries({ ...creates, all: refused });
  assert.deepEqual(
    tallies.map(([what, { total }]) => [what, total]),
    Object.entries({ created: 1, same: 2, taken: 1, refused: 0, failed: 0, all: 4 }),
  );
  if (performance.now() - beganMs < limits.ops.talliesMs)
    for (const [what, { total, lastMinute }] of tallies) assert.equal(lastMinute, total, what);
  // A sample that comes late is of more than a second.
  const sumOf = (samples: SampleColumns, field: 'createdPerSecond' | 'refusedPerSecond') => {
    const counts = samples.atMs.map((atMs, index) => {
      const beforeMs = samples.atMs[index - 1] ?? atMs;
      return ((samples[field][index] ?? 0) * (atMs - beforeMs)) / 1_000;
    });
    return Math.round(counts.reduce((sum, count) => sum + count, 0));
  };
  await until(
    sampled,
    (all) => sumOf(all, 'createdPerSecond') === 1 && sumOf(all, 'refusedPerSecond') === 3,
  );
});

test('the overview has the store, its count and its last backup, and the configuration has each origin', async () => {
  const { server, store, cookie } = own;
  const backup = `${store}.backup`;
  assert.equal((await runProgram(['backup', backup, ...on(store)])).code, 0);
  await create(server.plantsUrl, { id: 2, name: 'Ash' });
  const read = async () => (await ask(server, 'GET api/overview', { cookie })).body as Overview;
  const overview = await until(read, ({ store, ready }) => store.plants === 2 && ready);
  assert.match(overview.version, /^\d+\.\d+\.\d+/);
  assert.equal(overview.store.location, `sqlite:${store}`);
  const { plantsBytes = 0, logBytes = 0, freeBytes = 0 } = overview.store;
  assert(plantsBytes > 0 && logBytes > 0 && freeBytes > 0);
  const { file, isFileGone, plants, missingPlants } = overview.backup ?? {};
  assert.deepEqual([file, isFileGone, plants, missingPlants], [backup, false, 1, 1]);

  const { body } = await ask(server, 'GET api/configuration', { cookie });
  const settings = ['body-limit', 'commit-timeout', 'ops-port'].map((name) =>
    body.settings.find((setting: { name: string }) => setting.name === name),
  );
  const limit = { value: '2000', default: '1048576', inForce: null, source: 'flag' };
  const commit = { value: '4s', default: '4s', inForce: null, source: 'default' };
  const port = { value: '0', default: '8081', source: 'variable' };
  assert.deepEqual(settings, [
    { name: 'body-limit', ...limit },
    { name: 'commit-timeout', ...commit },
    { name: 'ops-port', ...port, inForce: new URL(server.opsUrl).port },
  ]);
  assert(!JSON.stringify([overview, body]).includes(fixedToken));
});

test('who signs in to a second service at the same host stays signed in to the first', async () => {
  const { server, cookie } = shared;
  const other = await signIn(own.server, { token: own.token });
  const both = { cookie: `${cookie}; ${other}` };
  const { headers } = await ask(own.server, 'DELETE api/session', both);
  const nameOf = (one: string) => one.split('=')[0];
  assert.notEqual(nameOf(cookie), nameOf(other), 'one takes the place of the other');
  assert(headers.get('Set-Cookie')?.startsWith(`${nameOf(other)}=;`));
  assert.equal((await ask(server, 'GET api/session', { cookie })).status, 200);
});

test('a session outlives a restart, holds on another server on the same store, and ends after its time', async (t) => {
  const { server, store, cookie } = own;
  const next = await startServer(t, store, oneThread);
  const elsewhere = { cookie: cookieFor(next, secretIn(cookie)) };
  assert.equal((await ask(next, 'GET api/session', elsewhere)).status, 200);
  assert.equal(await server.stop(), 0);
  assert.equal((await ask(next, 'GET api/session', elsewhere)).status, 200);
  alterStore(store, `UPDATE sessions SET expires_at = ${Date.now()}`);
  await refused(40150, next, 'GET api/session', elsewhere);
});
