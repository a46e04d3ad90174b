import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { curlCommand } from '../../src/create/reference/page/curl.ts';
import { assertDescribed } from '../helpers/description.ts';
import { create, oneThread, token } from '../helpers/program.ts';
import {
  assertRefusal,
  bareRequest,
  connectRaw,
  exchange,
  type RawConnection,
  type RawReply,
  rawRequest,
  sendAndWaitUntilRead,
} from '../helpers/raw.ts';
import { shareServer } from '../helpers/shared-server.ts';
import { lockStore, storedPlants } from '../helpers/store-file.ts';

/** A lock of the store may be held for as long as a busy machine takes. */
const sharedServer = await shareServer(['--commit-timeout', '60s']);
const garden = await shareServer([...oneThread, '--base-path', '/garden/v1/']);

/** Asserts a reply to a create to the letter. */
function assertPlant(reply: RawReply, body: string): void {
  assert.equal(reply.status, 200, reply.body);
  assert.equal(reply.body, body);
  assertDescribed(reply);
}

test('the reply has the id that was stored, also of a retry, and a refusal has none', async () => {
  const { plantsUrl } = sharedServer();
  const ids = {
    '9007199254740993': undefined,
    '9223372036854775807': undefined,
    '-9223372036854775808': undefined,
    '1e3': '1000',
  };
  for (const [sent, stored = sent] of Object.entries(ids))
    for (const attempt of ['first', 'retry']) {
      const reply = await create(plantsUrl, `{"id":${sent},"name":"Alder"}`);
      assert.equal(reply.headers.get('Plant-Id'), stored, attempt);
    }
  const conflict = await create(plantsUrl, '{"id":1000,"name":"Yew"}');
  assert.equal(conflict.status, 400);
  assert.equal(conflict.headers.get('Plant-Id'), null);
});

test('of two different plants with one id that are sent at once, one is stored and the other refused', async (t) => {
  const { port, store } = sharedServer();
  const lock = lockStore(t, store);
  const names = ['Alder', 'Birch'];
  const connections: RawConnection[] = [];
  // While the first plant waits for the lock in a transaction of its own, the others gather for the
  // next one.
  for (const [index, name] of ['first', ...names].entries()) {
    const connection = await connectRaw(t, port);
    const id = index === 0 ? 0 : 7;
    await sendAndWaitUntilRead(connection, rawRequest(`{"id":${id},"name":"${name}"}`));
    connections.push(connection);
  }
  lock.release();
  const [, ...replies] = await Promise.all(connections.map((connection) => connection.reply()));

  // Requests on two connections come in no order, so either may be the first.
  const first = replies.findIndex(({ status }) => status === 200);
  assertPlant(replies[first] as RawReply, `{"name":"${names[first]}"}`);
  assertRefusal(replies[1 - first] as RawReply, 'idTaken');
  assert.deepEqual(storedPlants(store).slice(1), [[7n, names[first], null]]);
});

test('below a base path plants are created there and nowhere else, and the description says so', async (t) => {
  const { port, plantsUrl, store } = garden();
  assert.equal(new URL(plantsUrl).pathname, '/garden/v1/plants');

  const createAt = (target: string, id: number) =>
    exchange(t, port, rawRequest(`{"id":${id},"name":"Alder"}`, { target }));
  assertPlant(await createAt('/garden/v1/plants', 1), '{"name":"Alder"}');
  const others = ['/plants', '/garden/plants', '/garden/v1', '/garden/v1//plants'];
  for (const target of [...others, '/garden/v1/plants/'])
    assertRefusal(await createAt(target, 2), 'pathUnknown');

  assert.equal(storedPlants(store).length, 1);
  const description = await fetch(plantsUrl.replace('plants', 'openapi.json'));
  assert.match(await description.text(), /"servers":\[\{"url":"\/garden\/v1",/);
});

test('the description is served to everybody, by GET and HEAD', async (t) => {
  const server = sharedServer();
  const connection = await connectRaw(t, server.port);
  connection.send(bareRequest('/openapi.json?v=1', 'HEAD'));
  const head = await connection.reply('HEAD');
  connection.send(bareRequest('/openapi.json?v=1'));
  const get = await connection.reply();

  for (const reply of [head, get]) {
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get('content-type'), 'application/json');
  }
  assert.equal(head.headers.get('content-length'), get.headers.get('content-length'));
  assert.equal(JSON.parse(get.body).openapi, '3.1.0');
});

/** What the page loads, as paths from the root. */
async function loadedBy(pageUrl: string): Promise<string[]> {
  const html = await (await fetch(pageUrl)).text();
  const paths = [...html.matchAll(/(?:src|href)="(docs\/[^"]*)"/g)].map(([, path]) => path ?? '');
  return [...paths, 'docs/curl.ts'].map((path) => new URL(path, pageUrl).pathname);
}

test('the reference page and all that it loads are served to everybody, by GET and HEAD, with a strict policy', async (t) => {
  const { plantsUrl, port } = garden();
  const loaded = await loadedBy(plantsUrl.replace(/plants$/, 'docs'));
  assert.equal(loaded.length, 4);
  const connection = await connectRaw(t, port);

  for (const target of ['/garden/v1/docs', '/garden/v1/docs?from=mail', ...loaded]) {
    connection.send(bareRequest(target, 'HEAD'), bareRequest(target));
    const [head, get] = [await connection.reply('HEAD'), await connection.reply()];
    for (const { status, headers } of [head, get]) {
      assert.equal(status, 200, target);
      const type = headers.get('content-type') ?? '';
      assert.match(type, /^text\/(html|css|javascript); charset=utf-8$/);
      const policy = headers.get('content-security-policy') ?? '';
      assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
      assert.doesNotMatch(headers.get('content-security-policy') ?? '', /unsafe|http|\*/);
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.equal(headers.get('referrer-policy'), 'no-referrer');
      assert.equal(headers.get('cache-control'), 'no-cache');
    }
    assert.equal(head.headers.get('content-length'), get.headers.get('content-length'));
  }
});

test('a browser that asks for HTML at the root or the base path is sent to the page, and no other client is', async (t) => {
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
  for (const [{ port }, target, method, accept, page] of [
    [sharedServer(), '/', 'GET', browser, '/docs'],
    [sharedServer(), '/?a=b', 'HEAD', 'application/json, TEXT/HTML ; q=0.1', '/docs'],
    [garden(), '/', 'GET', browser, '/garden/v1/docs'],
    [garden(), '/garden/v1', 'GET', browser, '/garden/v1/docs'],
    [garden(), '/garden/v1/', 'HEAD', browser, '/garden/v1/docs'],
    [sharedServer(), '/', 'GET', undefined],
    [sharedServer(), '/', 'GET', '*/*'],
    [sharedServer(), '/', 'GET', 'application/json, text/html;q=0'],
    [sharedServer(), '/', 'POST', browser],
    [sharedServer(), '/plant', 'GET', browser],
  ] as const) {
    const connection = await connectRaw(t, port);
    const fields = { Authorization: undefined, 'Content-Type': undefined, Accept: accept };
    connection.send(rawRequest('', { method, target, fields }));
    const reply = await connection.reply(method === 'HEAD' ? method : undefined);
    assert.equal(reply.headers.get('location'), page, target);
    if (page) assert.equal(reply.status, 302);
    else assertRefusal(reply, 'pathUnknown');
  }
});

test('beside the page there is nothing, and it takes no other method', async (t) => {
  const connection = await connectRaw(t, sharedServer().port);
  for (const target of [
    '/docs/',
    '/docs/index.html',
    '/docs/../package.json',
    '/docs/%2e%2e/package.json',
  ]) {
    connection.send(bareRequest(target));
    assertRefusal(await connection.reply(), 'pathUnknown');
  }
  for (const target of ['/docs', '/docs/page.ts']) {
    connection.send(bareRequest(target, 'POST'));
    const reply = await connection.reply();
    assertRefusal(reply, 'methodNotAllowed');
    assert.equal(reply.headers.get('allow'), 'GET, HEAD');
  }
});

test('the sample of the reference page creates the plant, with its exact id', async () => {
  const { plantsUrl: address, store } = sharedServer();
  const plant = { name: 'O\'Hara "🌲 \\u0041" \\n', tag: '' };
  const body = `{"id":9223372036854775000,${JSON.stringify(plant).slice(1)}`;
  const command = curlCommand({ address, token, body });
  const { stdout } = await promisify(execFile)('bash', ['-c', command]);
  assert.match(stdout, /^Plant-Id: 9223372036854775000\r$/m);
  assert.deepEqual(storedPlants(store), [[9_223_372_036_854_775_000n, plant.name, plant.tag]]);
});
