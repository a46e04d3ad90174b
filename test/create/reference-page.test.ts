import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { curlCommand } from '../../src/create/reference/page/curl.ts';
import { oneThread, token } from '../helpers/program.ts';
import { assertRefusal, bareRequest, connectRaw, rawRequest } from '../helpers/raw.ts';
import { shareServer } from '../helpers/shared-server.ts';
import { storedPlants } from '../helpers/store-file.ts';

const sharedServer = await shareServer(oneThread);
const garden = await shareServer([...oneThread, '--base-path', '/garden']);

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

  for (const target of ['/garden/docs', '/garden/docs?from=mail', ...loaded]) {
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

test('a browser that asks for HTML at the root or the base path is sent to the page, and nobody else', async (t) => {
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
  for (const [{ port }, target, method, accept, page] of [
    [sharedServer(), '/', 'GET', browser, '/docs'],
    [sharedServer(), '/?a=b', 'HEAD', 'application/json, TEXT/HTML ; q=0.1', '/docs'],
    [garden(), '/', 'GET', browser, '/garden/docs'],
    [garden(), '/garden', 'GET', browser, '/garden/docs'],
    [garden(), '/garden/', 'HEAD', browser, '/garden/docs'],
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
