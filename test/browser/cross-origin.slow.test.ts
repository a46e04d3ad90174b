import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { listenFor } from '../helpers/free-port.ts';
import { oneThread, startServerOnNewStore, token } from '../helpers/program.ts';
import { storedPlants } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';
import { openPage, withoutChromium } from './chromium.ts';

const clientSource = join(import.meta.dirname, '../../clients/typescript/src');

/** An empty page, and beside it the files of the client. */
const pageServer = createServer(({ url = '/' }, response) => {
  const isPage = url === '/';
  response.setHeader('Content-Type', isPage ? 'text/html' : 'text/javascript');
  const read = () => stripTypeScriptTypes(readFileSync(join(clientSource, url), 'utf8'));
  response.end(isPage ? '<!doctype html><link rel="icon" href="data:,">' : read());
});

/** Runs in the page: a create by the client, which gives up before its first retry. */
const create = `async ({ url, token, id }) => {
  const { createClient } = await import('/index.ts');
  const ended = new AbortController();
  let fields = '';
  const watched = async (...request) => {
    const reply = await fetch(...request);
    fields = [...reply.headers.keys()].join();
    return reply;
  };
  const client = createClient({ url, token, fetch: watched, onRetry: () => ended.abort() });
  const traceparent = '00-${'a'.repeat(32)}-${'b'.repeat(16)}-01';
  return client.createPlant({ id, name: 'Alder' }, { signal: ended.signal, traceparent }).then(
    () => ['stored', undefined, undefined, fields],
    ({ name, code, requestId }) => [name, code, requestId, fields],
  );
}`;

test('a page of a listed origin creates plants by the client, and reads all that a reply says', {
  skip: withoutChromium(),
}, async (t) => {
  const origin = `http://127.0.0.1:${await listenFor(t, pageServer)}`;
  const flags = ['--cors-origins', origin, ...oneThread];
  const { plantsUrl, store } = await startServerOnNewStore(t, ...flags);
  const limited = await storedToken(store, 'limited', { rate: { perDay: 24, burst: 1 } });
  const page = await openPage(t, origin, { expected: /a request to|40[15]|429|CORS|ERR_FAILED/ });
  const createAs = async (bearer: string, id: number) => {
    const given = { url: plantsUrl.replace(/plants$/, ''), token: bearer, id };
    return (await page.evaluate<unknown[]>(`(${create})(${JSON.stringify(given)})`)).join(' ');
  };

  await page.goto(origin);
  assert.match(await createAs(limited, 1), /^stored .*plant-id,x-request-id/);
  assert.match(
    await createAs('not-a-token', 2),
    /^RefusedError 40101 [0-9a-f]+-\w+ .*www-authenticate,x-request-id/,
  );
  assert.match(
    await createAs(limited, 3),
    /^GaveUpError 42900 .*ratelimit,ratelimit-policy,retry-after,x-request-id/,
  );
  // By another name, the same page has an origin that is not listed.
  await page.goto(origin.replace('127.0.0.1', 'localhost'));
  assert.equal(await createAs(token, 4), 'GaveUpError   ');
  assert.deepEqual(storedPlants(store), [[1n, 'Alder', null]]);
});
