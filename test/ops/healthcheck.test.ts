import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { listenFor } from '../helpers/free-port.ts';
import { ask } from '../helpers/operators.ts';
import { oneThread, startServerOnNewStore } from '../helpers/program.ts';
import { done, doneJson, failed, on, refused, runHere } from '../helpers/run-here.ts';

const linkForm = /^http:\/\/127\.0\.0\.1:\d+\/#\/sign-in\?link=([A-Za-z0-9_-]{43})$/;

const check = (port: number, ...args: string[]) =>
  runHere(['healthcheck', '--ops-port', `${port}`, ...args]);

test('open prints a link to the console that signs in; healthcheck ends with 0 while the service stores creates, and with 1 afterwards', async (t) => {
  const server = await startServerOnNewStore(t, ...oneThread);
  const port = Number(new URL(server.opsUrl).port);

  const signedInBy = async (url: string) => {
    const link = linkForm.exec(url)?.[1];
    return (await ask(server, 'POST api/session', { json: { link } })).body.name;
  };
  const there = [...on(server.store), '--ops-port', `${port}`];
  const opened = await done('open', ...there);
  assert.match(opened.stderr, /^The link signs in once, within 60 seconds\.\n$/);
  assert.equal(await signedInBy(opened.stdout.trim()), 'command line');
  const beganMs = Date.now();
  const { url, expiresAt } = await doneJson('open', ...there);
  assert.match(url, linkForm);
  const endsMs = Date.parse(expiresAt) - 60_000;
  assert(endsMs >= beganMs && endsMs <= Date.now(), expiresAt);

  const { code, stdout, stderr } = await check(port);
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /^ok {2}writes: the store takes writes /m);
  for (const host of ['0.0.0.0', '127.0.0.1'])
    assert.equal((await check(port, '--ops-host', host)).code, 0, host);
  const inJson = await check(port, '--json');
  assert.equal(JSON.parse(inJson.stdout).ready, true);

  await server.stop();
  const none =
    /no service answers at 127\.0\.0\.1 port \d+ \(.*ECONNREFUSED.*\); start the service, or name its port with --ops-host and --ops-port\n$/;
  failed(await check(port), none);
});

test('healthcheck and open tell another program, and a service without a port for operators', async (t) => {
  const other = createServer((_, reply) => reply.end('{"status":"up"}'));
  const otherPort = `${await listenFor(t, other)}`;
  for (const [command, purpose] of [
    ['healthcheck', 'ask for the health'],
    ['open', 'open the console'],
  ] as const) {
    const notOurs = /\(the reply is not from Plant Store\); start the service, or/;
    await refused(notOurs, command, '--ops-port', otherPort);
    const off = new RegExp(`: --ops-port off leaves no port to ${purpose}\n`);
    await refused(off, command, '--ops-port', 'off');
  }
});
