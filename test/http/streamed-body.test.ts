import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { type Handle, readBody, sendJson, sendStream } from '../../src/http/exchange.ts';
import { openPair, request, stuckMs } from '../helpers/connection-pair.ts';

/** A source that gives what the test has given, and tells when it is asked and when cancelled. */
function openSource() {
  const encoder = new TextEncoder();
  let asked = Promise.withResolvers<void>();
  let pulls = 0;
  const cancelled = Promise.withResolvers<void>();
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const stream = new ReadableStream<Uint8Array>(
    {
      start: (own) => {
        controller = own;
      },
      pull() {
        pulls += 1;
        asked.resolve();
        asked = Promise.withResolvers();
        return pulled?.();
      },
      cancel: () => cancelled.resolve(),
    },
    { highWaterMark: 0 },
  );
  let pulled: (() => void) | undefined;
  return {
    stream,
    cancelled: cancelled.promise,
    pulls: () => pulls,
    asked: () => asked.promise,
    give: (text: string) => controller?.enqueue(encoder.encode(text)),
    end: () => controller?.close(),
    fail: (error: Error) => controller?.error(error),
    /** Gives the text whenever the source is read. */
    giveAlways(text: string) {
      pulled = () => controller?.enqueue(encoder.encode(text));
    },
  };
}

const lines = 'Content-Type: text/plain\r\n';

/** Streams at `/`, and answers any other path at once. */
function streaming(stream: () => ReadableStream<Uint8Array>): Handle {
  return (exchange, { target, version }) =>
    target === '/'
      ? sendStream(exchange, version, { status: 200, lines, source: stream() })
      : sendJson(exchange, '{}');
}

const other = 'GET /other HTTP/1.1\r\nHost: a\r\n\r\n';

test('a streamed reply comes in chunks as the source gives them, and the replies behind it follow', async (t) => {
  const source = openSource();
  const { client } = await openPair(
    t,
    streaming(() => source.stream),
  );
  const asked = source.asked();
  client.send(request, other);
  await asked;
  source.give('Alder ');
  source.give('');
  source.give('Birch');
  source.end();

  const streamed = await client.reply();
  assert.equal(streamed.body, 'Alder Birch');
  assert.equal(streamed.headers.get('transfer-encoding'), 'chunked');
  assert.equal(streamed.headers.has('content-length'), false);
  assert.equal((await client.reply()).body, '{}');
  client.send(other);
  assert.equal((await client.reply()).body, '{}', 'the connection stays open');
});

test('the reply to a HEAD has the head of a streamed reply, and its source is not read', async (t) => {
  const source = openSource();
  const { client } = await openPair(
    t,
    streaming(() => source.stream),
  );
  client.send(request.replace('GET', 'HEAD'), other);

  const reply = await client.reply('HEAD');
  assert.equal(reply.headers.get('transfer-encoding'), 'chunked');
  assert.equal((await client.reply()).body, '{}');
  await source.cancelled;
  assert.equal(source.pulls(), 0);
});

test('a client of HTTP/1.0 gets the body without chunks, up to the end of the connection', async (t) => {
  const source = openSource();
  const { client } = await openPair(
    t,
    streaming(() => source.stream),
  );
  const asked = source.asked();
  client.send('GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n');
  await asked;
  source.give('Alder');
  source.end();

  const [head = '', body] = (await client.closed()).split('\r\n\r\n');
  assert.equal(body, 'Alder');
  assert.match(head, /^Connection: close$/m);
  assert.doesNotMatch(head, /Transfer-Encoding|Content-Length/);
});

test('a source is read only as the client takes, and a client that takes nothing is cut off', async (t) => {
  const source = openSource();
  const { client, wait } = await openPair(
    t,
    streaming(() => source.stream),
  );
  client.socket.pause();
  source.giveAlways('x'.repeat(1_000_000));
  const asked = source.asked();
  client.send(request);
  await asked;

  // The buffers of both sockets take some pieces. Then the source is not read for a while.
  for (let last = -1; last !== source.pulls(); ) {
    last = source.pulls();
    for (let turns = 0; turns < 1_000; turns += 1) await new Promise(setImmediate);
  }
  assert(source.pulls() < 30, `${source.pulls()} pieces were read`);
  wait(0);
  wait(stuckMs + 1);
  await source.cancelled;
});

test('a source that gives nothing for long is no fault of the client', async (t) => {
  const source = openSource();
  const { client, wait } = await openPair(
    t,
    streaming(() => source.stream),
  );
  const asked = source.asked();
  client.send(request);
  await asked;
  wait(0);
  wait(10 * stuckMs);
  source.give('late');
  source.end();
  assert.equal((await client.reply()).body, 'late');
});

test('a source is cancelled when the client leaves, also while it waits behind another reply', async (t) => {
  const sources = [openSource(), openSource()];
  const [first, second] = sources as [(typeof sources)[0], (typeof sources)[0]];
  let next = 0;
  const { client } = await openPair(
    t,
    streaming(() => (sources[next++] ?? first).stream),
  );
  const asked = first.asked();
  client.send(request, request);
  await asked;
  assert.equal(second.pulls(), 0);
  client.socket.destroy();
  await Promise.all([first.cancelled, second.cancelled]);
});

for (const [how, leave] of [
  ['closed its half of the connection', (socket: Socket) => socket.end()],
  ['left', (socket: Socket) => socket.resetAndDestroy()],
] as const) {
  test(`a source is cancelled when the client has ${how}, before the reply or behind its head`, async (t) => {
    for (const isEarly of [true, false]) {
      const source = openSource();
      const begun = Promise.withResolvers<void>();
      const closed = Promise.withResolvers<void>();
      const { client } = await openPair(t, (exchange, { version }) => {
        const reply = { status: 200, lines, source: source.stream };
        const takeBody = () => {
          if (!isEarly) sendStream(exchange, version, reply);
          begun.resolve();
        };
        readBody(exchange, { takeBody, noteClientClosed: closed.resolve });
        if (isEarly) void closed.promise.then(() => sendStream(exchange, version, reply));
      });
      client.send(request);
      await begun.promise;
      leave(client.socket);
      await source.cancelled;
    }
  });
}

for (const [version, ending, how] of [
  ['1.1', /^HTTP\/1\.1 200 .*\r\n5\r\nAlder\r\n$/s, 'without the last chunk'],
  ['1.0', /ECONNRESET/, 'with a reset'],
] as const) {
  test(`a source that fails behind the head ends a connection of HTTP/${version} ${how}`, async (t) => {
    const source = openSource();
    const failure = Promise.withResolvers<unknown>();
    const { client } = await openPair(
      t,
      streaming(() => source.stream),
      failure.resolve,
    );
    const asked = source.asked();
    client.send(`GET / HTTP/${version}\r\nHost: a\r\n\r\n`);
    await asked;
    source.give('Alder');
    if (!client.socket.readableLength) await once(client.socket, 'data');
    const error = new Error('the store is away');
    source.fail(error);

    assert.match(await client.closed().catch(({ message }) => message), ending);
    assert.equal(await failure.promise, error);
  });
}
