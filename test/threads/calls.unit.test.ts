import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { limits } from '../../src/limits.ts';
import { callsTo } from '../../src/threads/calls.ts';

const silent = "require('node:worker_threads').parentPort.on('message', () => undefined);";

async function openSilent(t: TestContext) {
  const thread = new Worker(silent, { eval: true });
  t.after(() => thread.terminate());
  await once(thread, 'online');
  return { thread, ...callsTo(thread, 'the other thread') };
}

const unavailable = { failure: 'unavailable' };

test('a limited number of calls waits for another thread, and further calls are refused', {
  timeout: 60_000,
}, async (t) => {
  const { call } = await openSilent(t);
  for (let count = 0; count < limits.service.callsMax; count += 1)
    call('beat', [1]).catch(() => undefined);
  await assert.rejects(call('beat', [1]), {
    ...unavailable,
    message: /not answered earlier calls/,
  });
});

test('the end of another thread fails the calls under way, and later ones', async (t) => {
  const { thread, call, ended } = await openSilent(t);
  const underWay = assert.rejects(call('beat', [1]), unavailable);
  const settled = ended();

  await thread.terminate();

  await Promise.all([underWay, settled]);
  await assert.rejects(call('beat', [1]), {
    ...unavailable,
    message: /^the other thread has ended/,
  });
});
