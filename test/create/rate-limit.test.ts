import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { numberText } from '../../src/quantity-text.ts';
import { audience, makeKey, startProvider } from '../helpers/identity-provider.ts';
import { untilInForce } from '../helpers/pause.ts';
import { create, startServer, storePath } from '../helpers/program.ts';
import { exchange, rawRequest } from '../helpers/raw.ts';
import { done, doneRecords, on } from '../helpers/run-here.ts';

const store = await storePath({ after });
const provider = await startProvider({ after }, [await makeKey('key')]);
const rules = ['--jwt-issuer', provider.issuer, '--jwt-audience', audience];
const server = await startServer({ after }, store, [...rules, '--jwt-rate', '1/h:3']);
let lastId = 0;

async function tokenCommand(...args: string[]): Promise<string> {
  return (await done('token', ...args, ...on(store))).stdout.trim();
}

function send(bearer: string, id = (lastId += 1)): Promise<Response> {
  return create(server.plantsUrl, { id, name: 'Alder' }, { Authorization: `Bearer ${bearer}` });
}

async function statuses(bearer: string, count: number): Promise<number[]> {
  const replies = await Promise.all(Array.from({ length: count }, () => send(bearer)));
  return replies.map(({ status }) => status).sort();
}

test('a token may send its burst over all threads, and is then told when to come back', async () => {
  const bearer = await tokenCommand('create', 'limited', '--rate', '2/h:5');
  const beganMs = performance.now();
  assert.deepEqual(await statuses(bearer, 9), [...Array(5).fill(200), ...Array(4).fill(429)]);

  const reply = await send(bearer);
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
  for (let tries = 0; tries < 3; tries += 1) replies.push((await send(bearer, id)).status);
  assert.deepEqual(replies, [200, 200, 429]);
});

test('a create beyond the rate is refused before its body is read', async (t) => {
  const bearer = await tokenCommand('create', 'large', '--rate', '1/d');
  assert.equal((await send(bearer)).status, 200);
  const fields = { Authorization: `Bearer ${bearer}`, 'Content-Length': '1000' };
  assert.equal((await exchange(t, server.port, rawRequest('{', { fields }))).status, 429);
});

test('a changed rate is in force within two seconds', async () => {
  const bearer = await tokenCommand('create', 'changed');
  assert.deepEqual(await statuses(bearer, 20), Array(20).fill(200));
  await tokenCommand('update', 'changed', '--rate', '1/d');
  const status = async () => (await send(bearer)).status;
  await untilInForce(status, 200, 429);
  await tokenCommand('update', 'changed', '--rate', 'none');
  await untilInForce(status, 429, 200);

  assert.match(await tokenCommand('list'), /^limited +create .* 2\/h:5 +command line/m);
  const listed = await doneRecords('token', 'list', ...on(store));
  assert.deepEqual(
    listed.flatMap(({ name, rate, burst }) => (rate === undefined ? [] : [{ name, rate, burst }])),
    [
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
      replies.push((await send(await provider.token(client))).status);
    assert.deepEqual(replies, [200, 200, 200, 429], client);
  }
});
