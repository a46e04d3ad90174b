import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { oneThread, startServerOnNewStore } from '../helpers/program.ts';
import { assertRefusal, connectRaw, rawRequest } from '../helpers/raw.ts';
import { shareServer } from '../helpers/shared-server.ts';

const sharedServer = await shareServer();

const request = (target: string, method = 'GET', fields = {}) =>
  rawRequest('', {
    method,
    target,
    fields: {
      Authorization: undefined,
      'Content-Type': undefined,
      'Content-Length': undefined,
      ...fields,
    },
  });

/** What the page loads, as paths from the root. */
async function loadedBy(pageUrl: string): Promise<string[]> {
  const html = await (await fetch(pageUrl)).text();
  const paths = [...html.matchAll(/(?:src|href)="(docs\/[^"]*)"/g)].map(([, path]) => path ?? '');
  return [...paths, 'docs/samples.ts'].map((path) => new URL(path, pageUrl).pathname);
}

test('the reference page and all that it loads are served to everybody, by GET and HEAD, with a strict policy', async (t) => {
  const { plantsUrl, port } = await startServerOnNewStore(
    t,
    ...oneThread,
    '--base-path',
    '/garden',
  );
  const loaded = await loadedBy(plantsUrl.replace(/plants$/, 'docs'));
  assert.equal(loaded.length, 4);
  const connection = await connectRaw(t, port);

  for (const target of ['/garden/docs', '/garden/docs?from=mail', ...loaded]) {
    connection.send(request(target, 'HEAD'), request(target));
    const [head, get] = [await connection.reply('HEAD'), await connection.reply()];
    for (const { status, headers } of [head, get]) {
      assert.equal(status, 200, target);
      assert.match(
        headers.get('content-type') ?? '',
        /^text\/(html|css|javascript); charset=utf-8$/,
      );
      assert.match(
        headers.get('content-security-policy') ?? '',
        /^default-src 'none'; script-src 'self'; style-src 'self';/,
      );
      assert.doesNotMatch(headers.get('content-security-policy') ?? '', /unsafe|http|\*/);
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.equal(headers.get('referrer-policy'), 'no-referrer');
      assert.equal(headers.get('cache-control'), 'no-cache');
    }
    assert.equal(head.headers.get('content-length'), get.headers.get('content-length'));
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
    connection.send(request(target));
    assertRefusal(await connection.reply(), 'pathUnknown');
  }
  for (const target of ['/docs', '/docs/page.ts']) {
    connection.send(request(target, 'POST', { 'Content-Length': '0' }));
    const reply = await connection.reply();
    assertRefusal(reply, 'methodNotAllowed');
    assert.equal(reply.headers.get('allow'), 'GET, HEAD');
  }
});

test('a file that the browser has is not sent again', async (t) => {
  const connection = await connectRaw(t, sharedServer().port);
  for (const target of ['/docs', '/docs/style.css']) {
    connection.send(request(target));
    const tag = (await connection.reply()).headers.get('etag') ?? assert.fail('there is no ETag');
    for (const known of [tag, tag.slice(2), `"other", ${tag}`, '*']) {
      connection.send(request(target, 'GET', { 'If-None-Match': known }));
      const { status, headers } = await connection.reply('HEAD');
      assert.deepEqual([status, headers.get('etag')], [304, tag], known);
    }
    for (const other of ['"other"', 'W/"other"', '']) {
      connection.send(request(target, 'GET', { 'If-None-Match': other }));
      assert.equal((await connection.reply()).status, 200, other);
    }
  }
});

test('a file is compressed for those who take gzip, and pipelined requests behind it are answered in their order', async (t) => {
  const { plantsUrl } = sharedServer();
  const path = '/docs/page.ts';
  const plain = Buffer.from(await (await fetch(new URL(path, plantsUrl))).arrayBuffer());
  const accepted = ['gzip', 'gzip, deflate, br, zstd', 'br;q=1, GZIP ; q=0.5'];
  const refused = ['', 'identity', 'br', 'gzip;q=0', 'gzip; q=0.000', 'gzipped'];
  const socket = connect({ port: Number(new URL(plantsUrl).port), host: '127.0.0.1' });
  t.after(() => socket.destroy());
  const encodings = [...accepted, ...refused, ...accepted];
  for (const encoding of encodings)
    socket.write(
      Buffer.concat([request(path, 'GET', { 'Accept-Encoding': encoding }), request('/docs')]),
    );
  socket.write(request('/docs', 'HEAD', { Connection: 'close' }));

  let received = Buffer.concat(await socket.toArray());
  const next = () => {
    const end = received.indexOf('\r\n\r\n');
    const head = received.toString('latin1', 0, end);
    const bodyEnd = end + 4 + Number(/content-length: (\d+)/i.exec(head)?.[1]);
    const body = received.subarray(end + 4, bodyEnd);
    received = received.subarray(bodyEnd);
    return { head, body };
  };
  for (const encoding of encodings) {
    const { head, body } = next();
    assert.match(head, /\r\nVary: Accept-Encoding\r\n/);
    assert.equal(
      /\r\nContent-Encoding: gzip\r\n/.test(head),
      accepted.includes(encoding),
      encoding,
    );
    assert((accepted.includes(encoding) ? gunzipSync(body) : body).equals(plain), encoding);
    assert.match(next().body.toString(), /^<!doctype html>/);
  }
  assert.match(received.toString(), /^HTTP\/1\.1 200 OK\r\n(?:.+\r\n)*Connection: close\r\n\r\n$/);
});
