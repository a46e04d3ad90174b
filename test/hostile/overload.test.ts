import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { withLimits } from '../helpers/faults.ts';
import {
  oneThread,
  type ServerWithStore,
  startServer,
  startServerOnNewStore,
  storePath,
} from '../helpers/program.ts';
import { assertRefusal, connectRaw, type RawReply, rawRequest } from '../helpers/raw.ts';
import { reset } from '../helpers/reset.ts';
import { lockStore, storedPlants } from '../helpers/store-file.ts';
import { connectCrowd } from './crowd.ts';
import { scale } from './scale.ts';

const plant = (id: number, name = `Alder ${id}`) => rawRequest(JSON.stringify({ id, name }));
const statuses = (replies: readonly RawReply[], status: number) =>
  replies.filter((reply) => reply.status === status);

/**
 * Sends each request on a connection of its own while the disk stalls, lets the disk go on when so
 * many have been answered, and returns the replies to all.
 */
async function sendToStalledDisk(
  t: TestContext,
  server: { port: number; store: string },
  requests: readonly Buffer[],
  answeredAtOnce: number,
) {
  const clients = await Promise.all(requests.map(() => connectRaw(t, server.port)));
  const lock = lockStore(t, server.store);
  const enough = Promise.withResolvers<void>();
  let answered = 0;
  const work = clients.map(async (client, index) => {
    client.send(requests[index] ?? '');
    const reply = await client.reply();
    answered += 1;
    if (answered === answeredAtOnce) enough.resolve();
    return reply;
  });
  const replies = Promise.all(work);
  await Promise.race([enough.promise, replies]);
  lock.release();
  return replies;
}

async function startWithQueue(
  t: TestContext,
  queuePlantsMax: number,
  ...args: string[]
): Promise<ServerWithStore> {
  const store = await storePath(t);
  const variables = withLimits({ store: { queuePlantsMax } });
  return { ...(await startServer(t, store, args, variables)), store };
}

test('while the disk stalls, as many creates wait as the queue holds, and all further creates get 503 at once', async (t) => {
  const server = await startWithQueue(t, 50);
  const count = scale({ short: 200, long: 5_000 });

  const replies = await sendToStalledDisk(
    t,
    server,
    Array.from({ length: count }, (_, id) => plant(id)),
    count - 50,
  );

  const refused = statuses(replies, 503);
  for (const reply of refused) assertRefusal(reply, 'overloaded');
  assert.deepEqual(
    [statuses(replies, 200).length, refused.length, storedPlants(server.store).length],
    [50, count - 50, 50],
  );
});

test('no create waits longer than --commit-timeout for a disk that stalls, and all goes on by itself when the disk does', async (t) => {
  const { port, store } = await startServerOnNewStore(t, '--commit-timeout', '500ms');
  const count = scale({ short: 100, long: 2_000 });
  const clients = await Promise.all(Array.from({ length: 10 }, () => connectRaw(t, port)));
  for (let stall = 0; stall < scale({ short: 2, long: 10 }); stall += 1) {
    const lock = lockStore(t, store);
    for (const [index, client] of clients.entries()) {
      for (let n = 0; n < count / clients.length; n += 1)
        client.send(plant(stall * count + index * count + n));
    }
    // Every one of these comes while the disk still stalls.
    for (const client of clients)
      for (let n = 0; n < count / clients.length; n += 1)
        assertRefusal(await client.reply(), 'storeUnavailable');
    lock.release();
    // The first create that the store takes again may still find it stalled.
    const [client] = clients;
    for (let status = 0; status !== 200; ) {
      client?.send(plant(-1));
      status = (await client?.reply())?.status ?? 0;
    }
  }
});

test('a create whose client is gone is stored whole or not at all', async (t) => {
  const { port, store } = await startServerOnNewStore(t);
  const count = scale({ short: 300, long: 20_000 });
  const name = 'Quercus robur '.repeat(500);
  let id = 0;
  for (let left = count; left > 0; left -= 50) {
    const crowd = await connectCrowd(t, port, 50);
    for (const { socket } of crowd) {
      const request = plant((id += 1), name);
      // Cut anywhere: in the header fields, in the body, or right behind it.
      const cut = ((id * 2_654_435_761) % request.length) + 1;
      socket.write(id % 3 === 0 ? request : request.subarray(0, cut), () =>
        id % 2 === 0 ? socket.destroy() : reset(socket),
      );
    }
    await Promise.all(crowd.map(({ gone }) => gone));
  }
  const client = await connectRaw(t, port);
  client.send(plant(0));
  assert.equal((await client.reply()).status, 200);

  const stored = storedPlants(store).filter(([storedId]) => storedId !== 0n);
  for (const [storedId, storedName] of stored) assert.equal(storedName, name, `plant ${storedId}`);
});

/**
 * A disk that is busy four fifths of the time, so that what the store can take in a second is
 * known: the queue, ten times.
 */
async function slowDisk(t: TestContext, store: string, until: Promise<unknown>): Promise<void> {
  let over = false;
  void until.then(() => (over = true));
  while (!over) {
    const lock = lockStore(t, store);
    await sleep(80);
    lock.release();
    await sleep(20);
  }
}

/**
 * Sends `perSecond` creates each second on 50 connections, whatever comes back, and counts what
 * does.
 */
async function offer(
  t: TestContext,
  server: { readonly port: number; readonly store: string },
  perSecond: number,
  seconds: number,
) {
  const crowd = await connectCrowd(t, server.port, 50);
  const offered = Math.round(perSecond * seconds);
  let id = Math.floor(Math.random() * 2 ** 40);
  const tick = 10;
  const send = async () => {
    const startedAt = performance.now();
    for (let sent = 0; sent < offered; ) {
      const due = Math.min(
        offered,
        Math.floor(((performance.now() - startedAt) / 1_000) * perSecond),
      );
      for (; sent < due; sent += 1) crowd[sent % crowd.length]?.socket.write(plant((id += 1)));
      await sleep(tick);
    }
    return (performance.now() - startedAt) / 1_000;
  };
  const sending = send();
  await slowDisk(t, server.store, sending);
  const tookSeconds = await sending;
  // What is still under way is answered, too.
  const count = (pattern: RegExp) =>
    crowd.reduce((sum, { received }) => sum + (received().match(pattern)?.length ?? 0), 0);
  while (count(/HTTP\/1.1 /g) < offered) await sleep(tick);
  const created = count(/HTTP\/1.1 200 /g);
  return {
    offered,
    created,
    overloaded: count(/"error":50300/g),
    perSecond: created / tookSeconds,
  };
}

test('offered five times what it can commit, it stores as much as at its peak and refuses the rest', async (t) => {
  const server = await startWithQueue(t, 100, ...oneThread);
  const seconds = scale({ short: 1, long: 10 });
  // The first is already more than it can commit.
  const peak = await offer(t, server, 2_000, seconds);
  const over = await offer(t, server, 5 * peak.perSecond, seconds);

  assert.equal(over.created + over.overloaded, over.offered);
  assert(over.overloaded > 0);
  assert.equal(storedPlants(server.store).length, peak.created + over.created);
});
