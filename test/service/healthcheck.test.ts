import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { oneThread, startServerOnNewStore } from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';

const check = (port: number, ...args: string[]) =>
  runHere(['healthcheck', '--ops-port', `${port}`, ...args]);

test('healthcheck ends with 0 while the service stores creates, and with 1 afterwards', async (t) => {
  const server = await startServerOnNewStore(t, ...oneThread);
  const port = Number(new URL(server.opsUrl).port);

  const { code, stdout, stderr } = await check(port);
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /^ok {2}writes: the store takes writes /m);
  for (const host of ['0.0.0.0', '127.0.0.1'])
    assert.equal((await check(port, '--ops-host', host)).code, 0, host);
  const inJson = await check(port, '--json');
  assert.equal(JSON.parse(inJson.stdout).ready, true);

  await server.stop();
  const stopped = await check(port);
  assert.deepEqual([stopped.code, stopped.stdout], [1, '']);
  assert.match(
    stopped.stderr,
    /^plant-store: no service answers at 127\.0\.0\.1 port \d+ \(.*ECONNREFUSED.*\); start the service, or name its port with --ops-host and --ops-port\n$/,
  );
});

test('healthcheck and open tell another program, and a service without a port for operators', async (t) => {
  const other = createServer((_, reply) => reply.end('{"status":"up"}')).listen(0, '127.0.0.1');
  t.after(() => other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  for (const [command, purpose] of [
    ['healthcheck', 'ask for the health'],
    ['open', 'open the console'],
  ] as const) {
    const found = await runHere([command, '--ops-port', `${port}`]);
    assert.deepEqual([found.code, found.stdout], [1, '']);
    assert.match(found.stderr, /\(the reply is not from Plant Store\); start the service, or/);
    const off = await runHere([command, '--ops-port', 'off']);
    assert.equal(off.code, 1);
    assert.equal(off.stderr, `plant-store: --ops-port off leaves no port to ${purpose}\n`);
  }
});
