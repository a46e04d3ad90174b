import assert from 'node:assert/strict';
import { after } from 'node:test';
import { withLimits } from '../helpers/faults.ts';
import { until } from '../helpers/pause.ts';
import {
  type Owner,
  oneThread,
  startServer,
  storePath,
  takesNoCode,
  token,
} from '../helpers/program.ts';
import {
  assertRefusal,
  connectRaw,
  type RawConnection,
  rawRequest,
  sendAndWaitUntilRead,
} from '../helpers/raw.ts';
import { testWith } from '../helpers/skips.ts';
import { lockStore } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';
import { connectCrowd, untilAnswered, writeUntilStuck } from './crowd.ts';

const MiB = 2 ** 20;
const tested = testWith({
  skip:
    takesNoCode ||
    (process.platform !== 'linux' && 'only on Linux is every address of 127.0.0.0/8 there'),
});
const unknownPath = 'GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n';

/** What is unfinished gives way, and never ends by itself. */
const patient = { headersMs: 3_600_000, requestMs: 3_600_000 };

async function start(t: Owner, changed: Parameters<typeof withLimits>[0], ...args: string[]) {
  const store = await storePath(t);
  const other = await storedToken(store, 'other');
  const variables = withLimits({ ...changed, http: { ...patient, ...changed.http } });
  return { ...(await startServer(t, store, args, variables)), store, other };
}

/** For the tests of the memory and of the queue. */
const small = {
  http: { strangersBytesMax: MiB, clientsBytesMax: 5 * MiB },
  store: { queuePlantsMax: 8 },
};
const args = [...oneThread, '--commit-timeout', '60s'];
const shared = takesNoCode ? undefined : await start({ after }, small, ...args);

function createAs(secret: string, id: number, body = `{"id":${id},"name":"Alder"}`): Buffer {
  return rawRequest(body, { fields: { Authorization: `Bearer ${secret}` } });
}

async function assertStatus(connection: RawConnection, status: number): Promise<void> {
  const reply = await connection.reply();
  assert.equal(reply.status, status, reply.body);
}

/** Resolves when the oldest connections are refused, and all others stay. */
async function assertOldestRefused(
  connections: readonly RawConnection[],
  kept: number,
): Promise<void> {
  const oldest = connections.slice(0, connections.length - kept);
  for (const connection of oldest) {
    assertRefusal(await connection.reply(), 'overloaded');
    assert.equal(await connection.closed(), '');
  }
}

tested(
  'unfinished heads of one network take half of the memory for strangers, and the oldest gives way',
  async (t) => {
    assert(shared);
    const { port } = shared;
    const slow = await connectRaw(t, port, '127.0.0.3');
    slow.send(unknownPath.slice(0, 20));
    const start15k = `${unknownPath.slice(0, -2)}X-Long: `.padEnd(15_000, 'x');
    const crowd: RawConnection[] = [];
    for (let count = 0; count < 50; count += 1) {
      const connection = await connectRaw(t, port, '127.0.0.2');
      connection.send(start15k);
      crowd.push(connection);
    }

    const kept = Math.floor(MiB / 2 / start15k.length);
    await assertOldestRefused(crowd, kept);
    slow.send(unknownPath.slice(20));
    await assertStatus(slow, 404);
    for (const connection of crowd.slice(-kept)) {
      connection.send('\r\n\r\n');
      await assertStatus(connection, 404);
    }
  },
);

tested(
  'replies that strangers do not read take no more than the memory for strangers',
  async (t) => {
    // What the service itself has of all 40 takes less than half of it.
    const bound = { strangersBytesMax: 8 * MiB };
    const { port, opsUrl } = await start(t, { http: bound }, ...oneThread);
    const members = await connectCrowd(t, port, 40);
    for (const { socket } of members) socket.write(unknownPath);
    await Promise.all(members.map(untilAnswered));
    const requests = Buffer.from(unknownPath.repeat(1_000));
    await Promise.all(members.map(({ socket }) => writeUntilStuck(socket, requests, 200)));

    const open = async () => {
      const metrics = await (await fetch(`${opsUrl}metrics`)).text();
      return Number(/^plant_store_connections (\d+)$/m.exec(metrics)?.[1]);
    };
    await until(open, (count) => count < 36);
  },
);

tested(
  'unfinished bodies of one token leave room for those of another, and the oldest gives way',
  async (t) => {
    assert(shared);
    const { port, other } = shared;
    const body = `{"id":7,"name":"Alder"${' '.repeat(900_000)}}`;
    const whole = createAs(other, 7, body);
    const crowd: RawConnection[] = [];
    for (let count = 0; count < 8; count += 1) {
      const connection = await connectRaw(t, port);
      await sendAndWaitUntilRead(connection, createAs(token, 1, body).subarray(0, -1));
      crowd.push(connection);
    }
    // Memory grows twofold up to the bound of a body.
    await assertOldestRefused(crowd, 2);

    const newcomer = await connectRaw(t, port);
    newcomer.send(whole.subarray(0, -1));
    newcomer.send(whole.subarray(-1));
    await assertStatus(newcomer, 200);
    for (const connection of crowd.slice(-2)) connection.send('}');
    for (const connection of crowd.slice(-2)) await assertStatus(connection, 200);
  },
);

tested('plants of one token that wait leave room in the queue for those of another', async (t) => {
  assert(shared);
  const { port, other, store } = shared;
  const lock = lockStore(t, store);
  const connections: RawConnection[] = [];
  for (const secret of [token, token, token, token, token, other, other]) {
    const connection = await connectRaw(t, port);
    await sendAndWaitUntilRead(connection, createAs(secret, 10 + connections.push(connection)));
  }
  const [fifth] = connections.splice(4, 1);
  assertRefusal(await (fifth as RawConnection).reply(), 'overloaded');
  lock.release();
  for (const connection of connections) await assertStatus(connection, 200);
});

tested(
  'without room for more connections, strangers end first, on whichever thread they are',
  async (t) => {
    const { port } = await start(t, { service: { connectionsMax: 32 } });
    const clients: RawConnection[] = [];
    const join = async () => {
      const connection = await connectRaw(t, port, '127.0.0.2');
      clients.push(connection);
      connection.send(createAs(token, 1));
      await assertStatus(connection, 200);
    };
    // Of the 32, one may linger, and one may wait for another thread to make room.
    while (clients.length < 20) await join();
    const ends = new Set<Promise<unknown>>();
    while (ends.size < 10) {
      const stranger = await connectRaw(t, port);
      stranger.send(unknownPath);
      await assertStatus(stranger, 404);
      const end: Promise<unknown> = stranger.closed().then(() => ends.delete(end));
      ends.add(end);
    }
    for (let left = ends.size - 1; left >= 0; left -= 1) {
      await join();
      while (ends.size > left) await Promise.race(ends);
    }
    for (const connection of clients) {
      connection.send(createAs(token, 1));
      await assertStatus(connection, 200);
    }
  },
);

tested(
  'without room on the only thread, a stranger ends, then an idle connection, and then one with half a request, of the token with the most',
  async (t) => {
    const { port, other } = await start(t, { service: { connectionsMax: 8 } }, ...oneThread);
    const stranger = await connectRaw(t, port);
    const crowd: RawConnection[] = [];
    for (const secret of [other, token, token, token, token, token, token, token]) {
      const connection = await connectRaw(t, port);
      await sendAndWaitUntilRead(connection, createAs(secret, 1).subarray(0, -1));
      crowd.push(connection);
    }
    assert.equal(await stranger.closed(), '');
    const newcomer = await connectRaw(t, port);
    newcomer.send(createAs(other, 2));
    await assertStatus(newcomer, 200);

    const [first, oldest, ...rest] = crowd as [RawConnection, RawConnection, ...RawConnection[]];
    assertRefusal(await oldest.reply(), 'overloaded');
    for (const connection of [first, ...rest]) {
      connection.send('}');
      await assertStatus(connection, 200);
    }

    const last = await connectRaw(t, port);
    last.send(createAs(other, 3));
    await assertStatus(last, 200);
    await Promise.any([first, newcomer, ...rest].map((idle) => idle.closed()));
  },
);
