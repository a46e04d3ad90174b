import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../../src/limits.ts';
import type { Readiness } from '../../src/ops/contract.ts';
import { quickHeartbeats, withLimits } from '../helpers/faults.ts';
import { freePort, listenFor } from '../helpers/free-port.ts';
import { assertMonitored, metricNames } from '../helpers/monitoring.ts';
import { mounted } from '../helpers/mounts.ts';
import { ask } from '../helpers/operators.ts';
import { pause, until } from '../helpers/pause.ts';
import {
  create,
  type Owner,
  oneThread,
  runProgram,
  startInTest,
  startServer,
  storePath,
  token,
} from '../helpers/program.ts';
import { connectRaw, type RawConnection } from '../helpers/raw.ts';
import { done, doneJson, failed, on, refused, runHere } from '../helpers/run-here.ts';
import { shareServer } from '../helpers/shared-server.ts';
import { alterStore, lockStore } from '../helpers/store-file.ts';

async function readiness(opsUrl: string) {
  const reply = await fetch(`${opsUrl}readyz`);
  const body = (await reply.json()) as Readiness;
  const failing = body.checks.filter(({ ok }) => !ok).map(({ name }) => name);
  const writes = body.checks.find(({ name }) => name === 'writes')?.says ?? '';
  return { status: reply.status, failing, writes, body };
}

type Found = Awaited<ReturnType<typeof readiness>>;

/** Asks until it is so. */
function untilReadiness(opsUrl: string, isSo: (found: Found) => boolean): Promise<Found> {
  return until(() => readiness(opsUrl), isSo);
}

/**
 * Not ready, by the writes alone and for this reason. On a busy machine another reply may come
 * before: a test write or an HTTP thread can be late, too.
 */
function failsByWrites(says: RegExp): (found: Found) => boolean {
  return ({ status, failing, writes }) =>
    status === 503 && failing.join() === 'writes' && says.test(writes);
}

/** The samples of `/metrics`, by name and labels. */
async function metrics(opsUrl: string) {
  const body = await (await fetch(`${opsUrl}metrics`)).text();
  const value = (name: string) => {
    const line = body.split('\n').find((one) => one.startsWith(`${name} `));
    return line === undefined ? undefined : Number(line.slice(name.length + 1));
  };
  return { body, value };
}

/** For tests that count its creates, or harm its store. */
const own = (await shareServer([], undefined, withLimits(quickHeartbeats)))();

const opsConnectionsMax = 16;
/** For tests that leave it as it was, but for the last. */
const shared = (
  await shareServer(
    [...oneThread, '--ops-names', 'ops.example.org'],
    undefined,
    withLimits({ service: { opsConnectionsMax } }),
  )
)();

test('a service that takes writes is live and ready, and says of each check what it has found', async () => {
  const { opsUrl } = shared;
  assert.deepEqual(await (await fetch(`${opsUrl}livez`)).json(), { live: true });
  const { status, body } = await untilReadiness(opsUrl, ({ status: code }) => code === 200);
  assert.equal(status, 200);
  assert.equal(body.ready, true);
  const names = body.checks.map(({ name }) => name);
  assert.deepEqual(names, ['writes', 'disk', 'queue', 'service']);
  assert.match(
    body.checks[0]?.says ?? '',
    /^the store takes writes \(a test write every 2 s, the last one \d+\.\d s ago\)$/,
  );
});

test('a service on a disk that is nearly full is ready and warns, is not ready while creates fail on a full disk, and is ready again once there is space', async (t) => {
  const folder = mounted(t, 'size=16m');
  if (folder === undefined) return;
  const store = join(folder, 'plants.db');
  const quick = withLimits(quickHeartbeats);
  const { opsUrl, plantsUrl } = await startServer(t, store, oneThread, quick);
  const { body } = await untilReadiness(opsUrl, ({ status }) => status === 200);
  const disk = body.checks.find(({ name }) => name === 'disk');
  assert.equal(disk?.level, 'warning');
  assert.match(disk.says, /^only [\d.]+ MiB are free for the store; make room$/);
  assert.equal((await create(plantsUrl, { id: 1, name: 'Alder' })).status, 200);
  assert.equal((await metrics(opsUrl)).value('plant_store_disk_low'), 1);

  const ballast = join(folder, 'ballast');
  assert.throws(() => writeFileSync(ballast, Buffer.alloc(16 * 2 ** 20)), /ENOSPC/);
  // The service can still write a little.
  const name = 'leaf '.repeat(50_000);
  let id = 1;
  await until(
    async () => {
      // As many as tell, close to each other, however seldom this is asked.
      for (let sent = 0; sent < 3; sent += 1) await create(plantsUrl, { id: (id += 1), name });
      return readiness(opsUrl);
    },
    failsByWrites(
      /^\d+ creates have failed in the last 1 s, and none was stored$|database or disk is full/,
    ),
  );
  await rm(ballast);
  await untilReadiness(opsUrl, ({ status }) => status === 200);
});

test('a name that is not its own is refused, since it may lead here by DNS rebinding', async (t) => {
  const { opsUrl } = shared;
  const { port } = new URL(opsUrl);
  const connection = await connectRaw(t, Number(port));
  const asking = async (host: string) => {
    connection.send(`GET /livez HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    const { status, body } = await connection.reply();
    return [status, JSON.parse(body)];
  };
  const own = [`localhost:${port}`, '127.0.0.1', `[::1]:${port}`, 'OPS.example.org'];
  for (const host of [...own, `10.0.0.7:${port}`])
    assert.deepEqual(await asking(host), [200, { live: true }], host);
  const [status, body] = await asking(`evil.example:${port}`);
  assert.equal(status, 421);
  assert.deepEqual(body, {
    error: 42100,
    message:
      'This listener is not known as "evil.example". Use its address, or start the service with --ops-names NAME.',
  });
});

test('pages of other origins are given nothing, and its own may load nothing from elsewhere', async () => {
  const { opsUrl } = shared;
  const reply = await fetch(`${opsUrl}livez`, { headers: { Origin: 'https://evil.example' } });
  assert.equal(reply.headers.get('access-control-allow-origin'), null);
  const nothing = "default-src 'none'; frame-ancestors 'none'";
  assert.equal(reply.headers.get('content-security-policy'), nothing);
  const page = await fetch(opsUrl, { headers: { Origin: 'https://evil.example' } });
  for (const { headers } of [reply, page]) {
    assert.equal(headers.get('cross-origin-resource-policy'), 'same-origin');
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
  }
  assert.equal(page.headers.get('x-frame-options'), 'DENY');
  assert.match(
    page.headers.get('content-security-policy') ?? '',
    /^default-src 'none'; script-src 'self'(?: 'sha256-[^' ]{44}')?; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'$/,
  );
  assert.equal(page.headers.get('access-control-allow-origin'), null);
  assert.deepEqual(await (await fetch(`${opsUrl}plants`, { method: 'POST' })).json(), {
    error: 40400,
    message: 'There is nothing at "/plants".',
  });
});

test('metrics count creates by outcome and refusals by code, over all threads', async () => {
  const { plantsUrl, opsUrl } = own;
  const plants = [1, 2, 3, 4, 5].map((id) => ({ id, name: 'Alder' }));
  const sent = [...plants, { id: 1, name: 'Alder' }, { id: 2, name: 'Birch' }];
  await Promise.all(sent.map((plant) => create(plantsUrl, plant)));
  assert.equal((await create(plantsUrl, '{')).status, 400);
  assert.equal((await fetch(plantsUrl, { method: 'POST' })).status, 401);

  const { value } = await metrics(opsUrl);
  const outcomes = ['created', 'same', 'taken', 'failed'].map((outcome) =>
    value(`plant_store_creates_total{outcome="${outcome}"}`),
  );
  assert.deepEqual(outcomes, [5, 1, 1, 0]);
  assert.equal(value('plant_store_refusals_total{code="40000"}'), 1);
  assert.equal(value('plant_store_refusals_total{code="40004"}'), 1);
  assert.equal(value('plant_store_refusals_total{code="40100"}'), 1);
  assert.equal(value('plant_store_create_duration_seconds_count'), 7);
  assert.equal(value('plant_store_create_duration_seconds_bucket{le="+Inf"}'), 7);
  assert.equal(value('plant_store_batch_plants_sum'), 7);
  assert.equal(
    value('plant_store_commit_duration_seconds_count'),
    value('plant_store_batch_plants_count'),
  );
  assert.equal(value('plant_store_queue_plants'), 0);
  assert.equal(value('plant_store_tokens{state="valid"}'), 0);
});

test('when the store cannot be read, the metrics have the rest', async () => {
  const { opsUrl, store } = own;
  alterStore(store, 'ALTER TABLE tokens RENAME TO away');
  const { value, body } = await metrics(opsUrl);
  assert.equal(typeof value('plant_store_connections'), 'number');
  assert.doesNotMatch(body, /plant_store_tokens/);
  alterStore(store, 'ALTER TABLE away RENAME TO tokens');
});

test('a service that cannot commit is not ready within seconds', async (t) => {
  await untilReadiness(own.opsUrl, ({ status }) => status === 200);
  // Another program holds the lock for writing.
  const lock = lockStore(t, own.store);
  await untilReadiness(own.opsUrl, failsByWrites(/ \d+\.\d s ago$/));
  lock.release();
  await untilReadiness(own.opsUrl, ({ status }) => status === 200);
});

test('metrics have help, a type, base units and bounded labels, as Prometheus wants them', async () => {
  const { opsUrl } = shared;
  const reply = await fetch(`${opsUrl}metrics`);
  assert.equal(reply.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  const lines = (await reply.text()).split('\n');
  assert.equal(lines.pop(), '');
  const types = new Map<string, string>();
  for (const line of lines) {
    const [, keyword, described = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (keyword === 'HELP') assert.match(rest, /^[A-Z].*\.$/, line);
    else if (keyword === 'TYPE') types.set(described, rest);
    else {
      const [, name = '', value = ''] =
        /^([a-z][a-z0-9_]*)(?:\{(?:[a-z]+="[^"\\]*",?)+\})? (\S+)$/.exec(line) ?? assert.fail(line);
      const family = types.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '');
      assert(types.has(family), line);
      assert(Number.isFinite(Number(value)), line);
    }
  }
  assert(lines.length < 500, `${lines.length} lines`);
  for (const [name, type] of types) {
    assert.match(name, /^(plant_store|process)_/);
    assert.equal(name.endsWith('_total'), type === 'counter', name);
    assert.doesNotMatch(name, /_(ms|milliseconds|minutes|kb|mb|percent)(_|$)/);
    if (type === 'histogram') assert.match(name, /_(seconds|plants)$/);
  }
});

test('a port for operators that is taken is an error that names the flag', async () => {
  const { port, store } = shared;
  failed(
    await runProgram(['serve', '--port', '0', '--ops-port', `${port}`, ...on(store)]),
    new RegExp(
      `: port ${port} on 127\\.0\\.0\\.1 is taken by another program; choose another port with --ops-port, `,
    ),
  );
});

test('the dashboard and the alerts name metrics that there are', async () => {
  const { opsUrl, plantsUrl, store } = shared;
  assert.equal((await create(plantsUrl, { id: 1, name: 'Alder' })).status, 200);
  assert.equal((await runProgram(['backup', `${store}.backup`, ...on(store)])).code, 0);
  let found = await metrics(opsUrl);
  // The plants are counted a moment after the start, and tokens every second.
  const isWhole = () => /^plant_store_token_creates_total.*^plant_store_plants /ms.test(found.body);
  for (; !isWhole(); found = await metrics(opsUrl)) await pause();
  const ofDatabase = ['plant_store_database_connections', 'plant_store_promised_disks'];
  assertMonitored([...metricNames(found.body), ...ofDatabase]);
});

test('the alerts have the bounds of the service', () => {
  const alerts = readFileSync(new URL('../../monitoring/alerts.yaml', import.meta.url), 'utf8');
  const bounds = [
    'plant_store_promised_disks < max_over_time(plant_store_promised_disks[1d])\n        for: 1m\n',
    `plant_store_last_backup_age_seconds > ${limits.ops.backupAgeMs / 1_000}\n`,
    `plant_store_disk_free_bytes < ${limits.disk.freeBytesPlenty}\n`,
    `plant_store_log_bytes > ${4 * limits.sqlite.walBytesKept}\n`,
    `plant_store_certificate_expires_seconds - time() < ${limits.tls.expiryWarningDays * 86_400}\n`,
    `min by (job, token) (plant_store_token_expires_seconds) - time() < ${7 * 86_400}\n`,
  ];
  for (const bound of bounds) assert(alerts.includes(bound), bound);
});

test('a service that starts is not ready before its port for clients is open', async (t) => {
  const [port, opsPort] = [await freePort(), await freePort()];
  const ports = ['--port', `${port}`, '--ops-port', `${opsPort}`];
  const variables = { PLANT_STORE_TOKEN: token };
  const args = ['serve', ...on(await storePath(t)), ...ports, ...oneThread];
  const { child } = startInTest(t, args, variables);
  const isReady = () =>
    fetch(`http://127.0.0.1:${opsPort}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  // The time between both ports would be short.
  while (!(await isReady())) {
    assert.equal(child.exitCode, null);
    await delay(1);
  }
  const reply = await create(`http://127.0.0.1:${port}/plants`, { id: 1, name: 'Alder' });
  assert.equal(reply.status, 200);
});

const request = 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n';

/**
 * Holds half more connections than there may be until the test ends, each with the same bytes sent,
 * and opens another at once for each that is closed. With twice as many, a connection could give way
 * before this process has written its request. Resolves when there is no room for all.
 */
async function flood(owner: Owner, port: number, bytes: string): Promise<void> {
  const sockets = new Set<Socket>();
  let isOver = false;
  owner.after(() => {
    isOver = true;
    for (const socket of sockets) socket.destroy();
  });
  const full = Promise.withResolvers<void>();
  const open = () => {
    if (isOver) return;
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(bytes));
    sockets.add(socket);
    // A reset is one of the ways to be closed.
    socket.on('error', () => undefined);
    socket.resume().once('close', () => {
      sockets.delete(socket);
      full.resolve();
      setImmediate(open);
    });
  };
  for (let opened = 0; opened < 1.5 * opsConnectionsMax; opened += 1) open();
  await full.promise;
}

const lacksLoopback =
  process.platform !== 'linux' && 'only on Linux is every address of 127.0.0.0/8 there';
const post = 'POST /api/session HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n';

for (const [what, bytes] of [
  ['that send nothing', ''],
  ['with half of a head', request.slice(0, 20)],
  ['with half of a sign-in', `${post}Content-Length: 9\r\n\r\n{`],
] as const)
  test(`while a client floods the port with connections ${what}, probes are answered at its own address, and no connection of another address is closed`, {
    skip: lacksLoopback,
  }, async (t) => {
    const port = Number(new URL(shared.opsUrl).port);
    const elsewhere = await connectRaw(t, port, '127.0.0.2');
    const assertAnswered = async ({ send, reply }: RawConnection, path = '/livez') => {
      send(request.replace('/livez', path));
      assert.equal((await reply()).status, 200);
    };
    await assertAnswered(elsewhere);
    await flood(t, port, bytes);
    for (let round = 0; round < 2; round += 1) {
      for (const path of ['/livez', '/readyz'])
        await assertAnswered(await connectRaw(t, port), path);
      await assertAnswered(elsewhere);
    }
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

test('open prints a link to the console that signs in; healthcheck ends with 0 while the service stores creates, and with 1 afterwards', async () => {
  const { port } = new URL(shared.opsUrl);
  const check = (...args: string[]) => runHere(['healthcheck', '--ops-port', port, ...args]);
  const linkForm = /^http:\/\/127\.0\.0\.1:\d+\/#\/sign-in\?link=([A-Za-z0-9_-]{43})$/;
  const signedInBy = async (url: string) => {
    const link = linkForm.exec(url)?.[1];
    return (await ask(shared, 'POST api/session', { json: { link } })).body.name;
  };
  const there = [...on(shared.store), '--ops-port', port];
  const opened = await done('open', ...there);
  assert.match(opened.stderr, /^The link signs in once, within 60 seconds\.\n$/);
  assert.equal(await signedInBy(opened.stdout.trim()), 'command line');
  const beganMs = Date.now();
  const { url, expiresAt } = await doneJson('open', ...there);
  assert.match(url, linkForm);
  const endsMs = Date.parse(expiresAt) - 60_000;
  assert(endsMs >= beganMs && endsMs <= Date.now(), expiresAt);

  const { code, stdout, stderr } = await check();
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /^ok {2}writes: the store takes writes /m);
  for (const host of ['0.0.0.0', '127.0.0.1'])
    assert.equal((await check('--ops-host', host)).code, 0, host);
  assert.equal(JSON.parse((await check('--json')).stdout).ready, true);

  await shared.stop();
  const none =
    /no service answers at 127\.0\.0\.1 port \d+ \(.*ECONNREFUSED.*\); start the service, or name its port with --ops-host and --ops-port, and its certificate with --ops-tls-certificate\n$/;
  failed(await check(), none);
});
