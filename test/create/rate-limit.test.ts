import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { numberText } from '../../src/quantity-text.ts';
import { audience, makeKey, startProvider } from '../helpers/identity-provider.ts';
import { until, untilInForce } from '../helpers/pause.ts';
import { create, startServer, storePath } from '../helpers/program.ts';
import { connectRaw, exchange, rawRequest } from '../helpers/raw.ts';
import { done, doneRecords, on } from '../helpers/run-here.ts';
import { alterStore } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';

const dayMs = 86_400_000;
const store = await storePath({ after });
const app = await storedToken(store, 'app', { validMs: 90 * dayMs });
const busy = await storedToken(store, 'busy', { rate: { perDay: 1, burst: 1 } });
const operator = await storedToken(store, 'operator', { role: 'operate' });
/** Rotated, and last used so many seconds after that. */
for (const [name, seconds] of Object.entries({ switched: -1, late: 60 })) {
  await storedToken(store, name);
  await done('token', 'rotate', name, ...on(store));
  alterStore(
    store,
    `UPDATE tokens SET last_used_at = rotated_at + ${seconds * 1_000} WHERE name = '${name}' AND rotated_at IS NOT NULL`,
  );
}
const fixed = 'fixed-token-of-the-environment-0123';
const provider = await startProvider({ after }, [await makeKey('key')]);
const rules = ['--jwt-issuer', provider.issuer, '--jwt-audience', audience];
const server = await startServer({ after }, store, [...rules, '--jwt-rate', '1/h:3'], {
  PLANT_STORE_TOKEN: fixed,
});

function send(token: string, body: string | object): Promise<Response> {
  return create(server.plantsUrl, body, { Authorization: `Bearer ${token}` });
}

/* What the metrics count comes first: they sum up what all have sent. */

/** Asks until the threads, which report once a second, have counted so many. */
async function metricsAfter(creates: number, refused: number) {
  const sumOf = (body: string, metric: string) =>
    [...body.matchAll(new RegExp(`^plant_store_token_${metric}_total.* ([0-9]+)$`, 'gm'))]
      .map(([, count]) => Number(count))
      .reduce((sum, count) => sum + count, 0);
  return until(
    async () => (await fetch(`${server.opsUrl}metrics`)).text(),
    (body) => sumOf(body, 'creates') === creates && sumOf(body, 'refusals') === refused,
  );
}

/** The lines of the metric about the token, without both. */
function linesOf(body: string, metric: string, token: string): string[] {
  const start = `plant_store_token_${metric}{token="${token}"`;
  return body
    .split('\n')
    .filter((line) => line.startsWith(start))
    .map((line) => line.slice(start.length));
}

test('metrics tell what became of the requests of each token, over all threads', async (t) => {
  const beforeMs = Date.now();
  const bodies = [1, 2, 3, 4, 5].map((id) => ({ id, name: 'Alder' }));
  await Promise.all(bodies.map((body) => send(app, body)));
  const others = [
    { id: 1, name: 'Alder' },
    { id: 2, name: 'Birch' },
    { id: 2.5, name: '' },
  ];
  await Promise.all([...others, '{', '{'].map((body) => send(app, body)));
  await Promise.all([6, 6, 6].map((id) => send(busy, { id, name: 'Elm' })));
  assert.equal((await send(operator, { id: 7, name: 'Oak' })).status, 403);
  assert.equal((await send(fixed, { id: 8, name: 'Yew' })).status, 200);
  // A body that breaks HTTP is the client's fault, too.
  const { send: sendRaw, reply } = await connectRaw(t, server.port);
  const fields = { Authorization: `Bearer ${fixed}`, 'Transfer-Encoding': 'chunked' };
  sendRaw(rawRequest('', { fields: { ...fields, 'Content-Length': undefined } }), 'x\r\n');
  assert.equal((await reply()).status, 400);

  const body = await metricsAfter(9, 8);
  assert.deepEqual(linesOf(body, 'creates_total', 'app'), [
    ',outcome="created"} 5',
    ',outcome="same"} 1',
    ',outcome="taken"} 1',
    ',outcome="refused"} 0',
    ',outcome="failed"} 0',
  ]);
  assert.deepEqual(linesOf(body, 'refusals_total', 'app').sort(), [
    ',code="40000"} 2',
    ',code="40002"} 1',
    ',code="40004"} 1',
  ]);
  assert.deepEqual(linesOf(body, 'refusals_total', 'busy'), [',code="42900"} 2']);
  assert.deepEqual(linesOf(body, 'refusals_total', 'operator'), [',code="40300"} 1']);
  assert.deepEqual(linesOf(body, 'creates_total', 'environment')[0], ',outcome="created"} 1');

  const usedAt = Number(linesOf(body, 'last_used_seconds', 'app')[0]?.split(' ')[1]) * 1_000;
  assert(usedAt >= beforeMs && usedAt <= Date.now(), `${usedAt}`);
  const [expires] = linesOf(body, 'expires_seconds', 'app');
  const daysLeft = (Number(expires?.split(' ')[1]) * 1_000 - Date.now()) / dayMs;
  assert(daysLeft > 89 && daysLeft <= 90, `${daysLeft}`);
  assert.deepEqual(linesOf(body, 'expires_seconds', 'busy'), []);
});

test('metrics tell the end of an old secret only if it was used after its rotation', async () => {
  const body = await metricsAfter(9, 8);
  const secondsOf = (metric: string, token: string) =>
    Number(linesOf(body, `old_secret_${metric}_seconds`, token)[0]?.split(' ')[1]);
  const graceSeconds = secondsOf('expires', 'late') - secondsOf('last_used', 'late') + 60;
  assert(Math.abs(graceSeconds - 86_400) < 1, `${graceSeconds}`);
  assert.deepEqual(linesOf(body, 'old_secret_expires_seconds', 'switched'), []);
});

test('metrics tell what became of the requests of a subject, whatever token it has', async () => {
  const sendAs = async (body: object | string) =>
    (await send(await provider.token('botanist'), body)).status;
  for (const id of [101, 102]) assert.equal(await sendAs({ id, name: 'Fir' }), 200);
  assert.equal(await sendAs('{'), 400);
  const name = `${provider.issuer} botanist`;
  const body = await metricsAfter(9 + 2, 8 + 1);
  assert.deepEqual(linesOf(body, 'creates_total', name)[0], ',outcome="created"} 2');
  assert.deepEqual(linesOf(body, 'refusals_total', name), [',code="40000"} 1']);
});

let lastId = 1_000;

async function tokenCommand(...args: string[]): Promise<string> {
  return (await done('token', ...args, ...on(store))).stdout.trim();
}

function sendPlant(bearer: string, id = (lastId += 1)): Promise<Response> {
  return send(bearer, { id, name: 'Alder' });
}

async function statuses(bearer: string, count: number): Promise<number[]> {
  const replies = await Promise.all(Array.from({ length: count }, () => sendPlant(bearer)));
  return replies.map(({ status }) => status).sort();
}

test('a token may send its burst over all threads, and is then told when to come back', async () => {
  const bearer = await tokenCommand('create', 'limited', '--rate', '2/h:5');
  const beganMs = performance.now();
  assert.deepEqual(await statuses(bearer, 9), [...Array(5).fill(200), ...Array(4).fill(429)]);

  const reply = await sendPlant(bearer);
  assert.equal(reply.status, 429);
  const seconds = Number(reply.headers.get('retry-after'));
  const passed = (performance.now() - beganMs) / 1_000;
  assert(seconds <= 1_800 && seconds >= 1_800 - passed, `${seconds} after ${passed} s`);
  assert.equal(reply.headers.get('ratelimit-policy'), '"token";q=5;w=9000');
  assert.equal(reply.headers.get('ratelimit'), `"token";r=0;t=${seconds}`);
  assert.deepEqual(await reply.json(), {
    error: 42900,
    message: `The token may send creates at 2/h, and 5 at once. This plant was not stored; retry in ${numberText(seconds)} s.`,
  });
});

test('a retry of a stored plant counts like any create', async () => {
  const bearer = await tokenCommand('create', 'retrying', '--rate', '2/d');
  const id = (lastId += 1);
  const replies = [];
  for (let tries = 0; tries < 3; tries += 1) replies.push((await sendPlant(bearer, id)).status);
  assert.deepEqual(replies, [200, 200, 429]);
});

test('a create beyond the rate is refused before its body is read', async (t) => {
  const bearer = await tokenCommand('create', 'large', '--rate', '1/d');
  assert.equal((await sendPlant(bearer)).status, 200);
  const fields = { Authorization: `Bearer ${bearer}`, 'Content-Length': '1000' };
  assert.equal((await exchange(t, server.port, rawRequest('{', { fields }))).status, 429);
});

test('a changed rate is in force within two seconds', async () => {
  const bearer = await tokenCommand('create', 'changed');
  assert.deepEqual(await statuses(bearer, 20), Array(20).fill(200));
  await tokenCommand('update', 'changed', '--rate', '1/d');
  const status = async () => (await sendPlant(bearer)).status;
  await untilInForce(status, 200, 429);
  await tokenCommand('update', 'changed', '--rate', 'none');
  await untilInForce(status, 429, 200);

  assert.match(await tokenCommand('list'), /^limited +create .* 2\/h:5 +command line/m);
  const listed = await doneRecords('token', 'list', ...on(store));
  assert.deepEqual(
    listed.flatMap(({ name, rate, burst }) => (rate === undefined ? [] : [{ name, rate, burst }])),
    [
      { name: 'busy', rate: '1/d', burst: 1 },
      { name: 'large', rate: '1/d', burst: 1 },
      { name: 'limited', rate: '2/h', burst: 5 },
      { name: 'retrying', rate: '2/d', burst: 2 },
    ],
  );
});

test('each subject of an identity provider has the rate of --jwt-rate', async () => {
  for (const client of ['gardener', 'florist']) {
    const replies = [];
    // Another token of the same subject has the same bucket.
    for (let tries = 0; tries < 4; tries += 1)
      replies.push((await sendPlant(await provider.token(client))).status);
    assert.deepEqual(replies, [200, 200, 200, 429], client);
  }
});
