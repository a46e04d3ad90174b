import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { withLimits } from '../helpers/faults.ts';
import { oneThread, takesNoCode } from '../helpers/program.ts';
import {
  assertRefusal,
  connectRaw,
  describeRequest,
  type RawConnection,
  rawRequest,
  sendAndWaitUntilRead,
} from '../helpers/raw.ts';
import { shareServer } from '../helpers/shared-server.ts';
import { lockStore } from '../helpers/store-file.ts';

const plant = (id: number) => `{"id":${id},"name":"Alder ${id}"}`;
const wrongToken = { Authorization: 'Bearer wrong' };

const flags = [...oneThread, '--commit-timeout', '60s'];
const sharedServer = await shareServer(
  flags,
  undefined,
  withLimits({ http: { pipelineMax: 8, pipelinedInAllMax: 10, lingerMs: 300 } }),
);
/** One thread, so that all connections are looked at together, every half second. */
const hurriedServer = await shareServer(
  flags,
  undefined,
  withLimits({ http: { requestMs: 3_000, headersMs: 3_000, idleMs: 1_500, lingerMs: 300 } }),
);

/**
 * A refused create of which a part is still to come. The server waits `limits.http.lingerMs` for
 * that, and then closes the connection.
 */
async function sendUnfinished(owner: TestContext, port: number): Promise<RawConnection> {
  const connection = await connectRaw(owner, port);
  connection.send(rawRequest(plant(1), { fields: wrongToken }).subarray(0, -1));
  assertRefusal(await connection.reply(), 'tokenInvalid');
  return connection;
}

async function assertCreated(connection: RawConnection, id: number): Promise<void> {
  const reply = await connection.reply();
  assert.equal(reply.status, 200, reply.body);
  assert.equal(reply.body, `{"name":"Alder ${id}"}`);
}

test('a connection without a request is closed without a reply', {
  skip: takesNoCode,
}, async (t) => {
  const { port } = hurriedServer();
  const [silent, used] = [await connectRaw(t, port), await connectRaw(t, port)];
  used.send(rawRequest(plant(1)));

  await assertCreated(used, 1);
  for (const connection of [silent, used]) assert.equal(await connection.closed(), '');
});

test('a refused body that is still under way does not cut off a create before it, however long that takes', async (t) => {
  const { port, store } = sharedServer();
  const lock = lockStore(t, store);
  const connection = await connectRaw(t, port);

  connection.send(
    rawRequest(plant(1)),
    rawRequest(plant(2), { fields: wrongToken }).subarray(0, -5),
  );
  // As long as the server reads on after a refusal.
  await (await sendUnfinished(t, port)).closed();
  lock.release();

  await assertCreated(connection, 1);
  assertRefusal(await connection.reply(), 'tokenInvalid');
});

test('a request that comes behind a create has its own time, and not that of the create', async (t) => {
  const { port, store } = hurriedServer();
  const lock = lockStore(t, store);
  const [connection, tooSlow] = [await connectRaw(t, port), await connectRaw(t, port)];

  await sendAndWaitUntilRead(connection, rawRequest(plant(1)));
  await sendAndWaitUntilRead(tooSlow, rawRequest(plant(3)).subarray(0, -1));
  assertRefusal(await tooSlow.reply(), 'requestTimeout');
  // The create waits for longer than a request may take to arrive. The server looks at what has
  // come of the next one before it has come whole.
  connection.send(rawRequest(plant(2)).subarray(0, 10));
  assert.equal(await (await sendUnfinished(t, port)).closed(), '');
  connection.send(rawRequest(plant(2)).subarray(10));
  lock.release();

  await assertCreated(connection, 1);
  await assertCreated(connection, 2);
});

const request = (id: number) => rawRequest(plant(id));
const creates = Array.from({ length: 30 }, (_, index) => request(index + 1));

/** How many of the creates of each connection are read while none can be stored. */
for (const [bound, requests, connectionsCount, plants] of [
  ['8 requests of a connection', creates, 1, 8],
  ['10 requests behind others of all connections', creates, 2, 12],
  ['requests with small replies', [request(1), describeRequest, request(2)], 1, 1],
] as const) {
  test(`only ${bound} are read ahead of their replies`, async (t) => {
    const { port, opsUrl, store } = sharedServer();
    const lock = lockStore(t, store);
    const connections = [];
    for (let index = 0; index < connectionsCount; index += 1) {
      const connection = await connectRaw(t, port);
      await sendAndWaitUntilRead(connection, ...requests);
      connections.push(connection);
    }
    const metrics = await (await fetch(`${opsUrl}metrics`)).text();
    assert.match(metrics, new RegExp(`^plant_store_queue_plants ${plants}$`, 'm'));
    lock.release();
    for (const connection of connections)
      for (const _ of requests) assert.equal((await connection.reply()).status, 200);
  });
}
