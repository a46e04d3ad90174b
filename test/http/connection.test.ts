import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Connection } from '../../src/http/connection.ts';
import { type Exchange, type Handle, sendJson } from '../../src/http/exchange.ts';
import { RememberedHeads } from '../../src/http/remembered-heads.ts';
import { limits } from '../../src/limits.ts';
import { sharedCounter } from '../../src/threads/shared-counter.ts';
import { assertRefusal, connectRaw, type RawConnection } from '../helpers/raw.ts';

const request = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const headersMs = 10_000;
const requestMs = 30_000;

/** A connection of the server with a clock of its own, and the client that has opened it. */
interface Pair {
  readonly client: RawConnection;
  /** Sends the bytes, and resolves when the server has seen to them. */
  sendAndWait(bytes: string): Promise<void>;
  /** Lets time pass for the server, which does not look at it. */
  pass(ms: number): void;
  /** Lets time pass for the server, and has it look at its deadlines. */
  wait(ms: number): void;
}

async function openPair(
  t: TestContext,
  handle: Handle = (exchange) => sendJson(exchange, '{}'),
): Promise<Pair> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const client = await connectRaw(t, (server.address() as AddressInfo).port);
  const [socket] = (await accepted) as [Socket];
  t.after(() => socket.destroy());

  let requests = 0;
  let clockMs = 0;
  const listener = {
    heads: new RememberedHeads(),
    trustedProxies: undefined,
    events: { refused() {}, failed: (error: unknown) => assert.fail(String(error)) },
    requestIdPrefix: 'test',
    nextRequestNumber: () => (requests += 1),
    phase: 'open' as const,
    nowMs: 0,
    now: () => clockMs,
    date: new Date(0).toUTCString(),
    refusalLines: '',
    keepAliveLines: '',
  };
  const connection = new Connection(socket, {
    listener,
    counters: {
      connections: sharedCounter(),
      pipelinedRequests: sharedCounter(),
      bodyBytes: sharedCounter(),
    },
    bodyBytesMax: limits.http.bodyBytesMax,
    handle,
    headersMs,
    requestMs,
    idleMs: limits.http.idleMs,
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
    pass(ms) {
      clockMs += ms;
    },
    wait(ms) {
      clockMs += ms;
      listener.nowMs = clockMs;
      connection.expire(clockMs);
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
    for (
      let waitedMs = 0;
      waitedMs < limits.http.idleMs + limits.http.expiryCheckMs;
      waitedMs += 5_000
    ) {
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
  wait(limits.http.idleMs - 1);
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
    wait(limits.http.idleMs);
  }
  wait(limits.http.expiryCheckMs);

  assert.equal(await client.closed(), '');
});

test('no time is over early where the server has not looked at the clock for a while', async (t) => {
  const { client, sendAndWait, pass, wait } = await openPair(t);
  await sendAndWait(request);
  assert.equal((await client.reply()).status, 200);

  pass(headersMs);
  await sendAndWait(request.slice(0, 10));
  wait(headersMs - 1);
  await sendAndWait(request.slice(10));

  assert.equal((await client.reply()).status, 200);
});

test('a request that took too long is refused once, however long a reply before it takes', async (t) => {
  const exchanges: Exchange[] = [];
  const { client, sendAndWait, wait } = await openPair(
    t,
    (exchange) => void exchanges.push(exchange),
  );
  await sendAndWait(`${request}POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf`);

  wait(requestMs);
  wait(requestMs);
  sendJson(exchanges[0] as Exchange, '{}');

  assert.equal((await client.reply()).status, 200);
  assertRefusal(await client.reply(), 'requestTimeout');
  assert.equal(await client.closed(), '');
});
