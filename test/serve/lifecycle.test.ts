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
  type RawConnection,
  rawRequest,
  sendAndWaitUntilRead,
} from '../helpers/raw.ts';
import { skipVisibly, testWith } from '../helpers/skips.ts';
import { lockStore, storedPlants } from '../helpers/store-file.ts';
import { hasTerminal, startOnTerminal } from '../helpers/terminal.ts';

/** What waits for the drain limit instead of an event fails by this. */
const test = testWith({ timeout: 300_000 });
const drainForever = withLimits({ service: { drainMs: 3_600_000 } });

const alder = '{"id":1,"name":"Alder"}';
const expectContinue = { fields: { Expect: '100-continue' } };
const { interruptAgainMs } = limits.service;
const plantOf = (id: number) => `{"id":${id},"name":"Alder"}`;
const createOf = (id: number) => rawRequest(plantOf(id));

/**
 * Returns once new connections are refused, and the one thread says on open ones that a reply is
 * the last.
 */
async function untilDraining(port: number, open: RawConnection): Promise<void> {
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

/** A connection that has been accepted: closing the port does not reset it. */
async function openConnection(t: TestContext, port: number): Promise<RawConnection> {
  const open = await connectRaw(t, port);
  open.send(describeRequest);
  await open.reply();
  return open;
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

/** What a client has done before the signal, what it does after it, and the replies to its requests. */
interface Client {
  before?(client: RawConnection, id: number): Promise<unknown>;
  after?(client: RawConnection, id: number): void;
  readonly replies?: number;
}

const headBytes = rawRequest(plantOf(10), expectContinue).length - plantOf(10).length;

/** Each has ten ids of two digits for itself. */
const clients: Readonly<Record<string, Client>> = {
  'that has sent nothing': {},
  'whose connection is idle after a request': {
    async before(client) {
      client.send(describeRequest);
      assert.equal((await client.reply()).headers.get('connection'), 'keep-alive');
    },
  },
  'that sends a create on an open connection': {
    before: (client) => sendAndWaitUntilRead(client),
    after: (client, id) => client.send(createOf(id)),
    replies: 1,
  },
  'that sends the body of a create': {
    async before(client, id) {
      client.send(rawRequest(plantOf(id), expectContinue).subarray(0, headBytes));
      assert.equal((await client.reply()).status, 100);
      client.send(plantOf(id).slice(0, 10));
    },
    after: (client, id) => client.send(plantOf(id).slice(10)),
    replies: 1,
  },
  'with a create that waits for its commit': {
    before: (client, id) => sendAndWaitUntilRead(client, createOf(id)),
    replies: 1,
  },
  'with two creates that wait for their commit': {
    before: (client, id) => sendAndWaitUntilRead(client, createOf(id), createOf(id + 1)),
    replies: 2,
  },
  'whose second reply is ready before the first': {
    before: (client, id) => sendAndWaitUntilRead(client, createOf(id), describeRequest),
    replies: 2,
  },
};

test('at SIGTERM, however often it comes, each client gets the replies to what it has begun and to one more create, all of that is stored, and each connection is closed', async (t) => {
  // All clients send within 4 s of the signal. Test writes wait for the lock, too.
  const http = { drainIdleMs: 4_000, lastAcceptsMs: 3_600_000 };
  const ops = { heartbeatStaleMs: 3_600_000 };
  const limits = { service: { drainMs: 3_600_000 }, http, ops };
  const { store, server } = await start(t, withLimits(limits), '--commit-timeout', '60s');
  const { child, port, opsUrl } = server;
  for (const signal of ['SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const) {
    child.kill(signal);
    // The thread that answers operators is the one that gets signals.
    assert.equal((await fetch(`${opsUrl}livez`)).status, 200);
  }
  while ((await fetch(`${opsUrl}readyz`)).status !== 200) await pause();
  const lock = lockStore(t, store);
  const present = await Promise.all(
    Object.entries(clients).map(async ([what, client], index) => {
      const [connection, id] = [await connectRaw(t, port), 10 * (index + 1)];
      await client.before?.(connection, id);
      return { ...client, what, connection, id };
    }),
  );
  const open = await openConnection(t, port);
  child.kill('SIGSTOP');
  // These wait to be accepted.
  const waiting = await Promise.all(Array.from({ length: 20 }, () => connectRaw(t, port)));
  for (const [index, connection] of waiting.entries()) connection.send(createOf(200 + index));

  const startedMs = performance.now();
  child.kill('SIGTERM');
  child.kill('SIGCONT');
  await untilDraining(port, open);
  for (const { after, connection, id } of present) after?.(connection, id);
  const readiness = await fetch(`${opsUrl}readyz`);
  const { checks } = (await readiness.json()) as { checks: { name: string; ok: boolean }[] };
  const failing = checks.filter(({ ok }) => !ok).map(({ name }) => name);
  assert.deepEqual([readiness.status, failing], [503, ['service']]);
  assert.equal((await fetch(`${opsUrl}livez`)).status, 200);
  while (performance.now() - startedMs < 1.2 * interruptAgainMs) {
    child.kill('SIGTERM');
    await pause();
  }
  lock.release();

  for (const { what, connection, replies = 0 } of present) {
    for (let count = 1; count <= replies; count += 1) {
      const { status, headers } = await connection.reply();
      const last = count === replies ? 'close' : 'keep-alive';
      assert.deepEqual([status, headers.get('connection')], [200, last], what);
    }
    assert.equal(await connection.closed(), '', what);
  }
  for (const connection of waiting) assert.equal((await connection.reply()).status, 200);
  assert.equal(await exitCode(server), 0);
  assert.match(server.stderr(), /"signal":"SIGTERM".*"stopping".*"stopped"/s);
  assert.doesNotMatch(server.stderr(), /Debugger/);
  for (const file of [`${store}-wal`, `${store}-shm`]) assert.equal(existsSync(file), false);
  const ids = storedPlants(store).map(([id]) => Number(id));
  const accepted = Array.from({ length: 20 }, (_, index) => 200 + index);
  assert.deepEqual(ids, [30, 40, 50, 60, 61, 70, ...accepted]);
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

  const { status, headers } = await client.reply();
  assert.deepEqual([status, headers.get('connection')], [200, 'close']);
  assert.equal(await client.closed(), '');
  assert.equal(await exitCode(server), 0);
});

test('at SIGINT, neither a client that never finishes its request nor a store that another process keeps locked holds up the end', async (t) => {
  const limits = withLimits({ service: { drainMs: 2_000 } });
  const { store, server, client, lock } = await startWithWaitingCreate(
    t,
    limits,
    ...['--commit-timeout', '100ms'],
  );
  const endless = await connectRaw(t, server.port);
  endless.send(rawRequest(alder, expectContinue).subarray(0, -alder.length));
  assert.equal((await endless.reply()).status, 100);
  endless.send(alder.slice(0, -1));

  assert.equal(await server.stop('SIGINT'), 0);

  assertRefusal(await client.reply(), 'storeUnavailable');
  assert.deepEqual([await client.closed(), await endless.closed()], ['', '']);
  assert.match(server.stderr(), /"signal":"SIGINT".*"stopping".*"stopped"/s);
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

for (const [what, kill, exitCode] of [
  ['SIGTERM to the process group of', (pid: number) => process.kill(-pid, 'SIGTERM'), 0],
  ['kill -9 of', (pid: number) => process.kill(pid, 'SIGKILL'), null],
] as const)
  test(`${what} a launcher under an older Node is one stop of the service with a drain`, async (t) => {
    const olderNode = nodeOlderThanOurs();
    if (olderNode === undefined) return skipVisibly(t, 'there is no older Node in the PATH');
    const variables = { PLANT_STORE_TOKEN: token, LAUNCHER_NODE: olderNode };
    const { store, server, lock, client } = await startWithWaitingCreate(
      t,
      variables,
      ...['--commit-timeout', '60s'],
    );
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
  let shown = '';
  window.stdout?.on('data', (chunk) => /curl/.test((shown += chunk)) && window.kill('SIGKILL'));
  await once(window, 'close');
  while (existsSync(`${store}-wal`)) await pause();
});

test('SIGINT a moment after the first signal ends the server at once by this signal', async (t) => {
  const { server } = await startWithWaitingCreate(t, drainForever, '--commit-timeout', '1d');
  const open = await openConnection(t, server.port);
  const { child } = server;
  child.kill('SIGTERM');
  await untilDraining(server.port, open);

  while (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGINT');
    await pause();
  }

  assert.equal(child.signalCode, 'SIGINT');
  assert.doesNotMatch(server.stderr(), /"stopped"/);
});
