import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { limits } from '../../src/limits.ts';
import { oneThread, startServerOnNewStore } from '../helpers/program.ts';
import { connectRaw } from '../helpers/raw.ts';

const { opsUrl } = await startServerOnNewStore({ after }, ...oneThread);
const port = Number(new URL(opsUrl).port);
const livez = 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n';

/** Resolves when there is no room for all of its connections. */
async function flood(t: TestContext, bytes: string): Promise<void> {
  const connections = 2 * limits.service.opsConnectionsMax;
  const worker = new Worker(new URL('../helpers/flood.ts', import.meta.url), {
    workerData: { port, connections, bytes },
  });
  t.after(() => worker.terminate());
  await once(worker, 'message');
}

for (const [what, bytes] of [
  ['half a request', livez.slice(0, 20)],
  ['not a byte', ''],
  [
    'half a sign-in',
    'POST /api/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
  ],
] as const) {
  test(`probes are answered while a client at their own address floods the port with connections that send ${what}`, async (t) => {
    await flood(t, bytes);
    for (let round = 0; round < 10; round += 1) {
      for (const path of ['/livez', '/readyz']) {
        const connection = await connectRaw(t, port);
        connection.send(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
        assert.equal((await connection.reply()).status, 200, path);
      }
    }
  });
}

const skip =
  process.platform === 'linux' ? false : 'only on Linux is every address of 127.0.0.0/8 there';

test('a client that floods the port closes no connection of another address', {
  skip,
}, async (t) => {
  const connection = await connectRaw(t, port, '127.0.0.2');
  const ask = async () => {
    connection.send(livez);
    assert.equal((await connection.reply()).status, 200);
  };
  await ask();
  await flood(t, livez.slice(0, 20));
  for (let round = 0; round < 10; round += 1) await ask();
});
