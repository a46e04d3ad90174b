import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Connection } from '../../src/http/connection.ts';
import { sendJson } from '../../src/http/exchange.ts';
import { limits } from '../../src/limits.ts';
import { sharedCounter } from '../../src/shared-counter.ts';
import { assertRefusal, connectRaw, type RawConnection } from '../helpers/raw.ts';

const request = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const headersMs = 10_000;

/** A connection of the server with a clock of its own, and the client that has opened it. */
interface Pair {
  readonly client: RawConnection;
  /** Sends the bytes, and resolves when the server has seen to them. */
  sendAndWait(bytes: string): Promise<void>;
  /** Lets time pass for the server. */
  wait(ms: number): void;
}

async function openPair(t: TestContext): Promise<Pair> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const client = await connectRaw(t, (server.address() as AddressInfo).port);
  const [socket] = (await accepted) as [Socket];
  t.after(() => socket.destroy());

  let requests = 0;
  const listener = {
    events: { refused() {}, failed: (error: unknown) => assert.fail(String(error)) },
    requestIdPrefix: 'test',
    nextRequestNumber: () => (requests += 1),
    phase: 'open' as const,
    nowMs: 0,
    date: new Date(0).toUTCString(),
  };
  const connection = new Connection(socket, {
    listener,
    held: {
      connections: sharedCounter(),
      pipelinedRequests: sharedCounter(),
      bodyBytes: sharedCounter(),
    },
    bodyBytesMax: limits.bodyBytesMax,
    handle: (exchange) => sendJson(exchange, '{}'),
    headersMs,
    requestMs: 30_000,
    stuckMs: 37_000,
  });
  let seen = Promise.withResolvers<void>();
  socket.on('data', () => seen.resolve()).on('close', () => seen.resolve());
  return {
    client,
    async sendAndWait(bytes) {
      if (socket.destroyed) return;
      seen = Promise.withResolvers();
      client.send(bytes);
      await seen.promise;
    },
    wait(ms) {
      listener.nowMs += ms;
      connection.expire(listener.nowMs);
    },
  };
}

for (const [what, first, next] of [
  ['line ends', '\r\n', '\r\n'],
  ['half of a line end and nothing more', '\r', ''],
  ['line ends that are cut in their middle', '\r', '\n\r'],
] as const) {
  test(`a connection without a request ends when its time is over, although the client sends ${what}`, async (t) => {
    const { client, sendAndWait, wait } = await openPair(t);
    await sendAndWait(request);
    assert.equal((await client.reply()).status, 200);

    await sendAndWait(first);
    for (let waitedMs = 0; waitedMs < limits.idleMs; waitedMs += 5_000) {
      if (next !== '') await sendAndWait(next);
      wait(5_000);
    }

    assert.equal(await client.closed(), '');
  });
}

test('a connection that is still without its first request gets 408 when its time is over, although the client sends line ends', async (t) => {
  const { client, sendAndWait, wait } = await openPair(t);

  for (let waitedMs = 0; waitedMs < headersMs; waitedMs += 2_500) {
    await sendAndWait('\r\n\r');
    await sendAndWait('\n');
    wait(2_500);
  }

  assertRefusal(await client.reply(), 'requestTimeout');
  assert.equal(await client.closed(), '');
});

test('a request has its time from its first byte on, and not from the line ends before it', async (t) => {
  const { client, sendAndWait, wait } = await openPair(t);
  await sendAndWait(request);
  assert.equal((await client.reply()).status, 200);

  await sendAndWait('\r');
  wait(limits.idleMs - 1);
  await sendAndWait(`\n${request.slice(0, 10)}`);
  wait(headersMs - 1);
  await sendAndWait(request.slice(10));

  assert.equal((await client.reply()).status, 200);
});

test('each request renews the time of its connection', async (t) => {
  const { client, sendAndWait, wait } = await openPair(t);

  for (let requests = 0; requests < 3; requests += 1) {
    await sendAndWait(`\r\n${request}`);
    assert.equal((await client.reply()).status, 200);
    wait(limits.idleMs - 1);
  }
  wait(1);

  assert.equal(await client.closed(), '');
});
