import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Exchange, sendJson } from '../../src/http/exchange.ts';
import { limits } from '../../src/limits.ts';
import { headersMs, openPair, request, requestMs } from '../helpers/connection-pair.ts';
import { assertRefusal } from '../helpers/raw.ts';

for (const [what, first, next] of [
  ['line ends', '\r\n', '\r\n'],
  ['half of a line end and nothing more', '\r', ''],
  ['line ends that are cut in their middle', '\r', '\n\r'],
  ['line ends after a request', `${request}\r\n`, '\r\n'],
] as const) {
  test(`a connection without a request ends without a reply when its time is over, although the client sends ${what}`, async (t) => {
    const { client, sendAndWait, wait } = await openPair(t);

    await sendAndWait(first);
    if (first.startsWith(request)) assert.equal((await client.reply()).status, 200);
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

test('a request has its time from its first byte on, and not from the line ends before it', async (t) => {
  const { client, sendAndWait, wait } = await openPair(t);

  await sendAndWait('\r');
  wait(limits.http.idleMs - 1);
  await sendAndWait(`\n${request.slice(0, 10)}`);
  wait(headersMs - 1);
  await sendAndWait(request.slice(10));

  assert.equal((await client.reply()).status, 200);
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
