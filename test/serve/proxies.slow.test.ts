import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { type Certificate, makeAuthority } from '../helpers/certificates.ts';
import { quickHeartbeats, withLimits } from '../helpers/faults.ts';
import { freePort } from '../helpers/free-port.ts';
import { blocksOf } from '../helpers/pages.ts';
import { pause, until } from '../helpers/pause.ts';
import {
  oneThread,
  type RunningServer,
  startServer,
  storePath,
  temporaryFolder,
  token,
} from '../helpers/program.ts';
import { skipVisibly } from '../helpers/skips.ts';
import { lockStore, storedPlants } from '../helpers/store-file.ts';

/* The configurations of the page on proxies, with ports and files of the test. */

interface Place {
  readonly folder: string;
  readonly files: Certificate;
  readonly port: number;
}

/** How each proxy is started with its block of the page. */
const proxies: Readonly<Record<string, (config: string, place: Place) => string[]>> = {
  nginx(config, { folder, port, files }) {
    const adapted = config
      .replace('listen 443', `listen 127.0.0.1:${port}`)
      .replace('/etc/ssl/plants.pem', files.certificate)
      .replace('/etc/ssl/plants.key', files.key);
    const own = `pid ${folder}/pid; daemon off; worker_processes 1; events {}
      http { access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
      fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;`;
    return ['nginx', '-e', 'stderr', '-c', write(folder, 'nginx.conf', `${own}${adapted}}`)];
  },
  haproxy(config, { folder, port, files }) {
    const both = readFileSync(files.certificate, 'utf8') + readFileSync(files.key, 'utf8');
    const adapted = config
      .replace('bind :443', `bind 127.0.0.1:${port}`)
      .replace('/etc/ssl/plants-with-key.pem', write(folder, 'both.pem', both))
      .replace('inter 2s', 'inter 100ms');
    const own = `global\n    stats socket ${folder}/socket\n`;
    return ['haproxy', '-db', '-f', write(folder, 'haproxy.cfg', own + adapted)];
  },
  caddy(config, { folder, port, files }) {
    const adapted = config
      .replace('plants.example.org', `plants.example.org:${port}`)
      .replace('/etc/ssl/plants.pem', files.certificate)
      .replace('/etc/ssl/plants.key', files.key);
    const own = '{\n\tadmin off\n\tauto_https disable_redirects\n}\n';
    const file = write(folder, 'Caddyfile', own + adapted);
    return ['caddy', 'run', '--adapter', 'caddyfile', '--config', file];
  },
};

function write(folder: string, name: string, content: string): string {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
}

async function startProxy(t: TestContext, [program = '', ...args]: string[], place: Place) {
  const child = spawn(program, args, {
    env: { ...process.env, HOME: place.folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let printed = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (printed += chunk));
  t.after(() => child.kill());
  for (;;) {
    const socket = connect(place.port, '127.0.0.1');
    const isListening = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isListening) return;
    assert.equal(child.exitCode, null, printed);
    await pause();
  }
}

function clientOf(t: TestContext, port: number, ca: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 8, ca, servername: 'plants.example.org' });
  t.after(() => agent.destroy());
  return {
    async create(body: string, bearer = token) {
      const sent = request({
        ...{ agent, host: '127.0.0.1', port, path: '/plants', method: 'POST' },
        headers: {
          Host: `plants.example.org:${port}`,
          Authorization: `Bearer ${bearer}`,
          'Content-Type': 'application/json',
          'Content-Length': Buffer.byteLength(body),
        },
      });
      sent.end(body);
      const [reply] = await once(sent, 'response');
      return { status: Number(reply.statusCode), body: await text(reply) };
    },
  };
}

async function openConnections({ opsUrl }: RunningServer): Promise<number> {
  const metrics = await (await fetch(`${opsUrl}metrics`)).text();
  return Number(/^plant_store_connections (\d+)$/m.exec(metrics)?.[1]);
}

/** A service, and a proxy in front of it. @param variables of the service */
async function startBehind(t: TestContext, name: string, variables?: Record<string, string>) {
  const folder = await temporaryFolder(t);
  const authority = makeAuthority(folder, 'authority');
  const names = ['-addext', 'subjectAltName=DNS:plants.example.org'];
  const files = authority.issue('plants.example.org', names);
  const [port, servicePort, opsPort] = [await freePort(), await freePort(), await freePort()];
  const [place, store] = [{ folder, files, port }, await storePath(t)];
  const flags = [...oneThread, '--port', `${servicePort}`, '--ops-port', `${opsPort}`];
  const service = await startServer(t, store, flags, variables);
  const block = blocksOf('docs/operate/proxies.md').find(({ language }) => language === name);
  const config = block?.text
    .replace('127.0.0.1:8080', `127.0.0.1:${servicePort}`)
    .replace('port 8081', `port ${opsPort}`);
  await startProxy(t, proxies[name]?.(config ?? '', place) ?? [], place);
  const { create } = clientOf(t, port, readFileSync(authority.root, 'utf8'));
  return { folder, service, store, flags, create };
}

test('HAProxy sends creates to a node that is ready, and to no other', async (t) => {
  if (spawnSync('haproxy', ['-v']).error) return skipVisibly(t, 'needs haproxy');
  const { folder, store, create } = await startBehind(t, 'haproxy', withLimits(quickHeartbeats));
  const socket = join(folder, 'socket');
  // HAProxy names its own socket after it has begun to listen on the port.
  await until(async () => existsSync(socket), Boolean);
  const checked = (says: string) =>
    until(
      async () => {
        const admin = connect(socket).end('show stat\n');
        return (await text(admin)).split('\n').find((line) => line.includes(',node1,')) ?? '';
      },
      (line) => / ?L[0-9]\w+/.test(line) && line.includes(says),
    );
  assert.match(await checked(''), /,UP,.*,L7OK,200,/);
  assert.equal((await create('{"id":1,"name":"Alder"}')).status, 200);

  const lock = lockStore(t, store);
  await checked(',DOWN,');
  const { status, body } = await create('{"id":2,"name":"Alder"}');
  assert.deepEqual([status, body.includes('"error"')], [503, false]);
  lock.release();
  await checked(',UP,');
  assert.equal((await create('{"id":2,"name":"Alder"}')).status, 200);
});

for (const name of Object.keys(proxies))
  test(`through ${name}, creates and refusals pass unchanged, and a restart of the service loses no create`, async (t) => {
    if (spawnSync(name, ['-v']).error) return skipVisibly(t, `needs ${name}`);
    const { service, store, flags, create } = await startBehind(t, name);
    const createMany = (from: number) =>
      Promise.all(
        Array.from({ length: 100 }, (_, index) => create(`{"id":${from + index},"name":"Alder"}`)),
      );

    for (const { status, body } of await createMany(1))
      assert.deepEqual([status, body], [200, '{"name":"Alder"}']);
    const connections = await openConnections(service);
    assert(connections >= 1 && connections <= 8, `${connections} connections to the service`);
    assert.match((await create('{"id":1}')).body, /^\{"error":40001,/);
    const exact = await create('{"id":9223372036854775807,"name":"Yew"}');
    assert.equal(exact.body, '{"name":"Yew"}');
    assert.equal((await create('{"id":1,"name":"Alder"}', 'wrong')).status, 401);
    // Where the service refuses a body before the proxy has sent it, the proxy may tell 502.
    const { status } = await create(`{"id":0,"name":"${'x'.repeat(2 ** 20)}"}`);
    assert([413, 502].includes(status), `${status}`);

    const underWay = createMany(1_000);
    await service.stop();
    await startServer(t, store, flags);
    const replies = await underWay;
    while ((await create('{"id":5000,"name":"Alder"}')).status !== 200) await pause();
    const ids = new Set(storedPlants(store).map(([id]) => id));
    for (const [index, { status }] of replies.entries())
      assert(status !== 200 || ids.has(BigInt(1_000 + index)), `${index} is lost`);
  });
