import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { assertDescribed } from '../helpers/description.ts';
import {
  create,
  oneThread,
  type RunningServer,
  type ServerWithStore,
  startServer,
  startServerOnNewStore,
} from '../helpers/program.ts';
import {
  assertRefusal,
  connectRaw,
  type RawReply,
  rawRequest,
  sendAndWaitUntilRead,
} from '../helpers/raw.ts';
import { shareServer } from '../helpers/shared-server.ts';
import { lockStore, storedPlants } from '../helpers/store-file.ts';

const sharedServer = await shareServer();

async function send(t: TestContext, { port }: RunningServer, bytes: Uint8Array): Promise<RawReply> {
  const connection = await connectRaw(t, port);
  connection.send(bytes);
  const reply = await connection.reply();
  connection.socket.destroy();
  return reply;
}

/** Asserts a reply to a create to the letter. */
function assertPlant(reply: RawReply, body: string): void {
  assert.equal(reply.status, 200, reply.body);
  assert.equal(reply.body, body);
  assertDescribed(reply);
}

test('the reply has the id that was stored, also of a retry, and a refusal has none', async () => {
  const { plantsUrl } = sharedServer();
  const ids = {
    '9007199254740993': undefined,
    '9223372036854775807': undefined,
    '-9223372036854775808': undefined,
    '1e3': '1000',
  };
  for (const [sent, stored = sent] of Object.entries(ids))
    for (const attempt of ['first', 'retry']) {
      const reply = await create(plantsUrl, `{"id":${sent},"name":"Alder"}`);
      assert.equal(reply.headers.get('Plant-Id'), stored, attempt);
    }
  const conflict = await create(plantsUrl, '{"id":1000,"name":"Yew"}');
  assert.equal(conflict.status, 400);
  assert.equal(conflict.headers.get('Plant-Id'), null);
});

test('a retried create is answered like the first, also after a restart, and stores nothing more', async (t) => {
  const first = await startServerOnNewStore(t, ...oneThread);
  const body = rawRequest('{"id":5,"name":"Alder","tag":"Alnus"}');
  const sameOtherwiseSpelt = rawRequest(
    '{ "tag": "\\u0041lnus", "more": [1], "name": "Alder", "id": 5.0 }',
  );
  assertPlant(await send(t, first, body), '{"name":"Alder","tag":"Alnus"}');
  assertPlant(await send(t, first, body), '{"name":"Alder","tag":"Alnus"}');
  assert.equal(await first.stop(), 0);

  const second = await startServer(t, first.store, oneThread);
  assertPlant(await send(t, second, body), '{"name":"Alder","tag":"Alnus"}');
  assertPlant(await send(t, second, sameOtherwiseSpelt), '{"name":"Alder","tag":"Alnus"}');

  assert.deepEqual(storedPlants(first.store), [[5n, 'Alder', 'Alnus']]);
});

/**
 * Brings the requests, each on a connection of its own, into one transaction, and returns their
 * replies.
 */
async function createdTogether(
  t: TestContext,
  server: ServerWithStore,
  requests: readonly Uint8Array[],
): Promise<RawReply[]> {
  const lock = lockStore(t, server.store);
  const connections = [];
  // While the first plant waits for the lock in a transaction of its own, those after it gather for
  // the next one.
  for (const request of [rawRequest('{"id":0,"name":"first"}'), ...requests]) {
    const connection = await connectRaw(t, server.port);
    await sendAndWaitUntilRead(connection, request);
    connections.push(connection);
  }
  lock.release();
  const [, ...replies] = await Promise.all(connections.map((connection) => connection.reply()));
  return replies;
}

test('of two different plants with one id that are sent at once, one is stored and the other refused', async (t) => {
  const server = sharedServer();
  const names = ['Alder', 'Birch'];

  const replies = await createdTogether(
    t,
    server,
    names.map((name) => rawRequest(`{"id":7,"name":"${name}"}`)),
  );

  // Requests on two connections come in no order, so either may be the first.
  const first = replies.findIndex(({ status }) => status === 200);
  assertPlant(replies[first] as RawReply, `{"name":"${names[first]}"}`);
  assertRefusal(replies[1 - first] as RawReply, 'idTaken');
  assert.deepEqual(storedPlants(server.store).slice(1), [[7n, names[first], null]]);
});

test('below a base path plants are created there and nowhere else, and the description says so', async (t) => {
  const server = await startServerOnNewStore(t, '--base-path', '/garden/v1/', ...oneThread);
  assert.equal(new URL(server.plantsUrl).pathname, '/garden/v1/plants');

  assertPlant(
    await send(t, server, rawRequest('{"id":1,"name":"Alder"}', { target: '/garden/v1/plants' })),
    '{"name":"Alder"}',
  );
  for (const target of [
    '/plants',
    '/garden/plants',
    '/garden/v1',
    '/garden/v1//plants',
    '/garden/v1/plants/',
  ]) {
    assertRefusal(
      await send(t, server, rawRequest('{"id":2,"name":"Alder"}', { target })),
      'pathUnknown',
    );
  }

  assert.equal(storedPlants(server.store).length, 1);
  const description = await fetch(server.plantsUrl.replace('plants', 'openapi.json'));
  assert.match(await description.text(), /"servers":\[\{"url":"\/garden\/v1",/);
});

test('the description is served to everybody, by GET and HEAD', async (t) => {
  const server = sharedServer();
  const connection = await connectRaw(t, server.port);
  const request = (method: string) =>
    rawRequest('', { method, target: '/openapi.json?v=1', fields: { Authorization: undefined } });

  connection.send(request('HEAD'));
  const head = await connection.reply('HEAD');
  connection.send(request('GET'));
  const get = await connection.reply();

  for (const reply of [head, get]) {
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get('content-type'), 'application/json');
  }
  assert.equal(head.headers.get('content-length'), get.headers.get('content-length'));
  assert.equal(JSON.parse(get.body).openapi, '3.1.0');
});
