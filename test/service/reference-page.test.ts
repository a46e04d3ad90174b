import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oneThread, startServerOnNewStore } from '../helpers/program.ts';
import { connectRaw, rawRequest } from '../helpers/raw.ts';
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
