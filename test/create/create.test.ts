import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertDescribed } from '../helpers/description.ts';
import { create, oneThread, startServerOnNewStore } from '../helpers/program.ts';
import {
  assertRefusal,
  bareRequest,
  connectRaw,
  exchange,
  type RawConnection,
  type RawReply,
  rawRequest,
  sendAndWaitUntilRead,
} from '../helpers/raw.ts';
import { shareServer } from '../helpers/shared-server.ts';
import { lockStore, storedPlants } from '../helpers/store-file.ts';

/** A lock of the store may be held for as long as a busy machine takes. */
const sharedServer = await shareServer(['--commit-timeout', '60s']);

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

test('of two different plants with one id that are sent at once, one is stored and the other refused', async (t) => {
  const { port, store } = sharedServer();
  const lock = lockStore(t, store);
  const names = ['Alder', 'Birch'];
  const connections: RawConnection[] = [];
  // While the first plant waits for the lock in a transaction of its own, the others gather for the
  // next one.
  for (const [index, name] of ['first', ...names].entries()) {
    const connection = await connectRaw(t, port);
    const id = index === 0 ? 0 : 7;
    await sendAndWaitUntilRead(connection, rawRequest(`{"id":${id},"name":"${name}"}`));
    connections.push(connection);
  }
  lock.release();
  const [, ...replies] = await Promise.all(connections.map((connection) => connection.reply()));

  // Requests on two connections come in no order, so either may be the first.
  const first = replies.findIndex(({ status }) => status === 200);
  assertPlant(replies[first] as RawReply, `{"name":"${names[first]}"}`);
  assertRefusal(replies[1 - first] as RawReply, 'idTaken');
  assert.deepEqual(storedPlants(store).slice(1), [[7n, names[first], null]]);
});

test('below a base path plants are created there and nowhere else, and the description says so', async (t) => {
  const server = await startServerOnNewStore(t, '--base-path', '/garden/v1/', ...oneThread);
  assert.equal(new URL(server.plantsUrl).pathname, '/garden/v1/plants');

  const createAt = (target: string, id: number) =>
    exchange(t, server.port, rawRequest(`{"id":${id},"name":"Alder"}`, { target }));
  assertPlant(await createAt('/garden/v1/plants', 1), '{"name":"Alder"}');
  const others = ['/plants', '/garden/plants', '/garden/v1', '/garden/v1//plants'];
  for (const target of [...others, '/garden/v1/plants/'])
    assertRefusal(await createAt(target, 2), 'pathUnknown');

  assert.equal(storedPlants(server.store).length, 1);
  const description = await fetch(server.plantsUrl.replace('plants', 'openapi.json'));
  assert.match(await description.text(), /"servers":\[\{"url":"\/garden\/v1",/);
});

test('the description is served to everybody, by GET and HEAD', async (t) => {
  const server = sharedServer();
  const connection = await connectRaw(t, server.port);
  connection.send(bareRequest('/openapi.json?v=1', 'HEAD'));
  const head = await connection.reply('HEAD');
  connection.send(bareRequest('/openapi.json?v=1'));
  const get = await connection.reply();

  for (const reply of [head, get]) {
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get('content-type'), 'application/json');
  }
  assert.equal(head.headers.get('content-length'), get.headers.get('content-length'));
  assert.equal(JSON.parse(get.body).openapi, '3.1.0');
});
