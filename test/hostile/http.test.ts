import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { limits } from '../../src/limits.ts';
import { assertRefusal, connectRaw, rawRequest, sendAndWaitUntilRead } from '../helpers/raw.ts';
import { lockStore } from '../helpers/store-file.ts';
import { create, size } from './http-cases.ts';
import {
  ahead,
  assertAnswered,
  assertAnswers,
  assertRefusedToOperators,
  assertStored,
  assertUndisturbed,
  atRandom,
  cases,
  fill,
  port,
  store,
} from './http-exchanges.ts';

/* All at each byte: http.slow.test.ts. */

test('requests are answered as HTTP has it, in packets of any size', (t) =>
  assertAnswered(t, [atRandom]));

test('requests behind creates that wait for the disk are answered just so, after them', async (t) => {
  const together = 200;
  for (let from = 0; from < cases.length; from += together) {
    const lock = lockStore(t, store);
    const waiting = cases.slice(from, from + together).map(async (one) => {
      const { ids, bytes, before, more } = fill(one);
      const connection = await connectRaw(t, port);
      await sendAndWaitUntilRead(connection, before, bytes, more);
      if (one.after !== 'closed') connection.socket.end();
      return { one, ids, connection };
    });
    const sent = await Promise.all(waiting);
    lock.release();
    for (const { one, ids, connection } of sent) {
      const answers = [ahead, ...one.answers];
      await assertAnswers(connection, { ...one, answers }, ids).catch((error: unknown) => {
        throw new Error(one.what, { cause: error });
      });
      connection.socket.destroy();
    }
  }
});

test("what is malformed is refused on the operators' port just so", (t) =>
  assertRefusedToOperators(t, 5));

test('a connection that is reset within a request disturbs no other client', (t) =>
  assertUndisturbed(t, 9));

test('a client that sends megabytes behind a malformed request before it reads gets the refusal, and none of them is looked at', async (t) => {
  const many = (plant: (n: number) => string) => create(plant(1)).repeat(10_000);
  const { bytes } = fill({ what: 'many', bytes: many, answers: [], after: 'cut' });
  const connection = await connectRaw(t, port);
  connection.socket.pause();

  connection.send(create('x'.repeat(size)).replace('Host: a', 'Host: a b'), bytes);
  while (connection.socket.writableLength > 0) await once(connection.socket, 'drain');
  connection.socket.resume();

  assertRefusal(await connection.reply(), 'httpMalformed');
  assert.equal(await connection.closed(), '');
  connection.socket.destroy();
});

test('a client that sends on behind a refusal is cut off', { timeout: 300_000 }, async (t) => {
  const bytes = 3 * limits.http.lingerBytes;
  const fields = { Authorization: 'Bearer wrong', 'Content-Length': `${2 * bytes}` };
  for (const head of [rawRequest('', { method: 'P OST' }), rawRequest('', { fields })]) {
    const { socket, send } = await connectRaw(t, port);
    const gone = new Promise((resolve) => socket.once('close', resolve));
    send(head, Buffer.alloc(bytes));
    await gone;
  }
});

test('nothing was stored but what was answered 200, and nothing was a defect', assertStored);
