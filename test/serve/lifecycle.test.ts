import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import type { TestContext } from 'node:test';
import { limits } from '../../src/limits.ts';
import { withLimits } from '../helpers/faults.ts';
import { pause } from '../helpers/pause.ts';
import {
  besideOthers,
  create,
  oneThread,
  type RunningServer,
  startServer,
  storePath,
  temporaryFolder,
  token,
} from '../helpers/program.ts';
import {
  assertRefusal,
  connectRaw,
  describeRequest,
  rawRequest,
  sendAndWaitUntilRead,
} from '../helpers/raw.ts';
import { skipVisibly, testWith } from '../helpers/skips.ts';
import { lockStore, storedPlants } from '../helpers/store-file.ts';
import { hasTerminal, startOnTerminal } from '../helpers/terminal.ts';

/** What waits for the drain limit instead of an event fails by this. */
const test = testWith({ timeout: 20_000 });
const drainForever = withLimits({ service: { drainMs: 3_600_000 } });

const alder = '{"id":1,"name":"Alder"}';
const expectContinue = { fields: { Expect: '100-continue' } };

/**
 * Sends the signal and returns once new connections are refused, and the one thread says on open
 * ones that a reply is the last.
 */
async function signalled(t: TestContext, { child, port }: RunningServer): Promise<void> {
  const open = await connectRaw(t, port);
  // Once it has been answered, it has been accepted, and closing the port does not reset it.
  open.send(describeRequest);
  await open.reply();
  child.kill('SIGTERM');
  for (;;) {
    const socket = connect({ port, host: '127.0.0.1' });
    const outcome = await new Promise((resolve) =>
      socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code)).on('connect', resolve),
    );
    socket.destroy();
    if (outcome === 'ECONNREFUSED') break;
    await pause();
  }
  do open.send(describeRequest);
  while ((await open.reply()).headers.get('connection') !== 'close');
}

async function exitCode({ child }: RunningServer): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  return child.exitCode;
}

/**
 * A Node before the one that the tests run under: the launcher then starts the program as a second
 * process.
 */
function nodeOlderThanOurs(): string | undefined {
  const nodes = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'node'));
  return nodes
    .filter((node) => existsSync(node))
    .find((node) => major(execFileSync(node, ['--version'], { encoding: 'utf8' })) < ourMajor);
}

const major = (version: string) => Number.parseInt(version.replace('v', ''), 10);
const ourMajor = major(process.version);

async function start(t: TestContext, variables = drainForever, ...args: string[]) {
  const store = await storePath(t);
  return { store, server: await startServer(t, store, [...oneThread, ...args], variables) };
}

/**
 * The one create of the test was answered and stored, its connection closed, and the server ended
 * well.
 */
async function assertStoredAndStopped(
  client: Awaited<ReturnType<typeof connectRaw>>,
  server: RunningServer,
  store: string,
): Promise<void> {
  const { status, body, headers } = await client.reply();
  assert.deepEqual([status, body, headers.get('connection')], [200, '{"name":"Alder"}', 'close']);
  assert.equal(await client.closed(), '');
  assert.equal(await exitCode(server), 0);
  assert.deepEqual(storedPlants(store), [[1n, 'Alder', null]]);
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} ends an idle server with exit code 0, and the log is back in the one file of the store`, async (t) => {
    const store = await storePath(t);
    const server = await startServer(t, store);
    assert.equal((await create(server.plantsUrl, alder)).status, 200);
    assert(existsSync(`${store}-wal`));

    assert.equal(await server.stop(signal), 0);

    assert.match(server.stderr(), new RegExp(`"signal":"${signal}".*"stopping".*"stopped"`, 's'));
    assert.equal(existsSync(`${store}-wal`), false);
    assert.equal(existsSync(`${store}-shm`), false);
    assert.deepEqual(storedPlants(store), [[1n, 'Alder', null]]);
  });
}

test('idle connections, used or not, are closed at SIGTERM without waiting for the drain limit', async (t) => {
  const { server } = await start(t);
  const silent = await connectRaw(t, server.port);
  const used = await connectRaw(t, server.port);
  used.send(rawRequest(alder));
  const reply = await used.reply();
  assert.deepEqual([reply.status, reply.headers.get('connection')], [200, 'keep-alive']);

  assert.equal(await server.stop(), 0);

  assert.deepEqual([await silent.closed(), await used.closed()], ['', '']);
});

test('a create whose body arrives after SIGTERM is stored and answered 200', async (t) => {
  const { store, server } = await start(t);
  const client = await connectRaw(t, server.port);
  const request = rawRequest(alder, expectContinue);
  const headBytes = request.length - alder.length;
  client.send(request.subarray(0, headBytes));
  assert.equal((await client.reply()).status, 100);
  client.send(request.subarray(headBytes, headBytes + 10));

  await signalled(t, server);
  client.send(request.subarray(headBytes + 10));

  await assertStoredAndStopped(client, server, store);
});

test('a connection that is open at SIGTERM serves one more create and is closed, so that no client meets a closed one', async (t) => {
  const { store, server } = await start(t);
  const client = await connectRaw(t, server.port);
  await sendAndWaitUntilRead(client);

  await signalled(t, server);
  client.send(rawRequest(alder));

  await assertStoredAndStopped(client, server, store);
});

test('beside a service that has taken the port over, a client that pauses finishes on its connection', async (t) => {
  if (process.platform !== 'linux') return t.skip('services share a port only on Linux');
  const bounds = { http: { drainIdleMs: 1 }, service: { drainMs: 3_600_000 } };
  const { store, server } = await start(t, withLimits(bounds));
  const client = await connectRaw(t, server.port);
  await sendAndWaitUntilRead(client);
  const next = await startServer(t, store, ['--port', `${server.port}`, '--reuse-port']);

  server.child.kill('SIGTERM');
  await server.logged((text) => text.includes('"stopping"'));
  // Takes longer than the service would keep an idle connection alone.
  assert.equal((await create(next.plantsUrl, alder)).status, 200);
  client.send(rawRequest(alder));

  await assertStoredAndStopped(client, server, store);
});

test('connections that wait to be accepted at SIGTERM serve one create each', async (t) => {
  const { server } = await start(t);
  server.child.kill('SIGSTOP');
  const ids = Array.from({ length: 20 }, (_, index) => 1 + index);
  const clients = await Promise.all(ids.map(() => connectRaw(t, server.port)));
  for (const [index, client] of clients.entries())
    client.send(rawRequest(`{"id":${ids[index]},"name":"Alder"}`));

  server.child.kill('SIGTERM');
  server.child.kill('SIGCONT');

  for (const client of clients) assert.equal((await client.reply()).status, 200);
  assert.equal(await exitCode(server), 0);
});

test('a client that never finishes its request is cut after the time to stop, and the exit code is 0', async (t) => {
  const { store, server } = await start(t, withLimits({ service: { drainMs: 300 } }));
  const client = await connectRaw(t, server.port);
  const request = rawRequest(alder, expectContinue);
  client.send(request.subarray(0, -alder.length));
  assert.equal((await client.reply()).status, 100);
  client.send(alder.slice(0, -1));

  assert.equal(await server.stop(), 0);

  assert.equal(await client.closed(), '');
  assert.match(server.stderr(), /"stopped"/);
  assert.deepEqual(storedPlants(store), []);
});

test('a store that another process keeps locked does not hold up the end: the create is answered 50301', async (t) => {
  const flags = ['--commit-timeout', '500ms'];
  const { store, server, lock, client } = await startWithWaitingCreate(t, drainForever, ...flags);

  assert.equal(await server.stop(), 0);

  assertRefusal(await client.reply(), 'storeUnavailable');
  assert.equal(await client.closed(), '');
  lock.release();
  assert.deepEqual(storedPlants(store), []);
});

/**
 * A server on a new store that another process keeps locked, and a create that waits there for its
 * commit.
 */
async function startWithWaitingCreate(t: TestContext, variables = drainForever, ...args: string[]) {
  const { store, server } = await start(t, variables, ...args);
  const lock = lockStore(t, store);
  const client = await connectRaw(t, server.port);
  await sendAndWaitUntilRead(client, rawRequest(alder));
  return { store, server, lock, client };
}

test('a create that waits for its commit at SIGTERM is answered 200 when it is stored, however late SIGTERM is repeated, and its connection closes', async (t) => {
  const { store, server, lock, client } = await startWithWaitingCreate(t);
  const startedMs = performance.now();
  server.child.kill('SIGTERM');
  await server.logged((stderr) => stderr.includes('"stopping"'));

  while (performance.now() - startedMs < 1.2 * limits.service.interruptAgainMs) {
    server.child.kill('SIGTERM');
    await pause();
  }
  lock.release();

  await assertStoredAndStopped(client, server, store);
});

for (const [what, kill, exitCode] of [
  ['SIGTERM to the process group of', (pid: number) => process.kill(-pid, 'SIGTERM'), 0],
  ['kill -9 of', (pid: number) => process.kill(pid, 'SIGKILL'), null],
] as const)
  test(`${what} a launcher under an older Node is one stop of the service with a drain`, async (t) => {
    const olderNode = nodeOlderThanOurs();
    if (olderNode === undefined) return skipVisibly(t, 'there is no older Node in the PATH');
    const variables = { PLANT_STORE_TOKEN: token, LAUNCHER_NODE: olderNode };
    const { store, server, lock, client } = await startWithWaitingCreate(t, variables);
    const closed = once(server.child, 'close');

    kill(server.child.pid as number);
    await server.logged((stderr) => stderr.includes('"stopping"'));
    lock.release();

    assert.equal((await client.reply()).status, 200);
    await closed;
    assert.equal(server.child.exitCode, exitCode);
    assert.match(server.stderr(), /"stopped"/);
    assert.deepEqual(storedPlants(store), [[1n, 'Alder', null]]);
  });

test('SIGHUP, SIGUSR1 and SIGUSR2 neither end a service without certificates nor open a debugger', async (t) => {
  const server = await startServer(t, await storePath(t), oneThread);
  for (const signal of ['SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const) {
    server.child.kill(signal);
    // The thread that answers operators is the one that gets signals.
    assert.equal((await fetch(`${server.opsUrl}livez`)).status, 200);
  }
  assert.equal((await create(server.plantsUrl, alder)).status, 200);
  assert.equal(await server.stop(), 0);
  assert.doesNotMatch(server.stderr(), /Debugger/);
});

test('while no name server answers, plants are stored, even if the pool for syncs is set to one thread, and the service stops', async (t) => {
  const folder = await temporaryFolder(t);
  const address = '127.0.5.3';
  const silent = createSocket('udp4').unref();
  const isAsked = new Promise((resolve) =>
    silent.on('message', (query) => query.includes('collector') && resolve(query)),
  );
  const bound = Promise.race([once(silent.bind(53, address), 'listening'), once(silent, 'error')]);
  const [failure] = await bound;
  const { status, stderr } = spawnSync('unshare', ['--mount', 'true'], { encoding: 'utf8' });
  if (failure || status !== 0)
    return skipVisibly(t, `no name server of its own can be had here: ${failure ?? stderr}`);
  // A lookup takes 4 s; 20 s by default.
  writeFileSync(join(folder, 'resolv.conf'), `nameserver ${address}\n`.repeat(2));
  const launcher = join(folder, 'launcher');
  const inMounts = `mount --bind ${folder}/resolv.conf /etc/resolv.conf; exec "$0" "$@"`;
  const unshared = `unshare --mount sh -c '${inMounts}' ${process.execPath} "$@"`;
  writeFileSync(launcher, `#!/bin/sh\nexec ${unshared}\n`, { mode: 0o755 });
  const variables = {
    ...withLimits({ service: { drainMs: 1_000 } }),
    LAUNCHER_NODE: launcher,
    UV_THREADPOOL_SIZE: '1',
    OTEL_BSP_SCHEDULE_DELAY: '1',
  };
  const issuer = ['--jwt-issuer', 'https://login.example.org', '--jwt-audience', 'plants'];
  const collector = ['--otlp-endpoint', 'http://collector.example.org:4318'];
  const flags = [...issuer, ...collector, '--commit-timeout', '3s'];
  const { server } = await start(t, variables, ...flags);
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await create(server.plantsUrl, alder, { traceparent });
  await isAsked;

  assert.equal((await create(server.plantsUrl, alder)).status, 200);
  assert.equal(await server.stop(), 0, server.stderr());
});

test('the end of its terminal stops a service with a drain', async (t) => {
  if (!hasTerminal(t)) return;
  const store = await storePath(t);
  const args = ['serve', '--port', '0', '--store', `sqlite:${store}`, ...oneThread];
  const window = startOnTerminal(80, args, besideOthers);
  window.stdout?.on('data', (shown) => /curl/.test(`${shown}`) && window.kill('SIGKILL'));
  await once(window, 'close');
  while (existsSync(`${store}-wal`)) await pause();
});

test('SIGINT a moment after the first signal ends the server at once by this signal', async (t) => {
  const { server } = await startWithWaitingCreate(t, drainForever, '--commit-timeout', '1d');
  await signalled(t, server);

  const { child } = server;
  while (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGINT');
    await pause();
  }

  assert.equal(child.signalCode, 'SIGINT');
  assert.doesNotMatch(server.stderr(), /"stopped"/);
});
