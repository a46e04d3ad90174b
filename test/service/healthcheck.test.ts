import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { listenFor } from '../helpers/free-port.ts';
import { oneThread, startServerOnNewStore } from '../helpers/program.ts';
import { failed, refused, runHere } from '../helpers/run-here.ts';

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
  failed(await check(port), /no service answers at 127\.0\.0\.1 port \d+ \(.*ECONNREFUSED.*\)\n$/);
});

test('healthcheck tells another program, and a service without a port for operators', async (t) => {
  const other = createServer((_, reply) => reply.end('{"status":"up"}'));
  failed(await check(await listenFor(t, other)), /\(the reply is not from Plant Store\)\n$/);
  const off = /: --ops-port off leaves no port to ask for the health\n/;
  await refused(off, 'healthcheck', '--ops-port', 'off');
});
