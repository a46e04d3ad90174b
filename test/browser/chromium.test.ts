import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import {
  assertAccessible,
  openPage,
  screenshot,
  screenshotFolder,
  watchFaults,
  withoutChromium,
} from './chromium.ts';

const policy =
  "default-src 'none'; script-src 'self'; img-src data:; connect-src http: ws:; frame-ancestors 'none'";

/** Serves a page with this HTML, and the script as /page.js. @returns the origin */
async function serve(t: TestContext, body: string, script: string): Promise<string> {
  const server = createServer((request, response) => {
    const [type, text] =
      request.url === '/page.js' ? ['text/javascript', script] : ['text/html', body];
    response
      .writeHead(request.url === '/missing' ? 404 : 200, {
        'Content-Type': type,
        'Content-Security-Policy': policy,
      })
      .end(text);
  });
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const againstPolicy = /^an error on the console: against the Content-Security-Policy: /;

const html = (body: string) =>
  `<!doctype html><html lang="en"><title>Test</title><main><h1>Test</h1>${body}</main><script src="page.js"></script></html>`;

describe('the browser of the tests', { skip: withoutChromium() }, () => {
  const faulty: readonly (readonly [what: string, body: string, script: string, found: RegExp])[] =
    [
      ['an error that it logs', '', 'console.error("wilted")', /^an error on the console: wilted$/],
      [
        'an error that it does not catch',
        '',
        'throw new Error("wilted")',
        /^an error that was not caught: Error: wilted$/,
      ],
      [
        'a rejection that it does not catch',
        '',
        'Promise.reject(new Error("wilted"))',
        /^an error that was not caught: Error: wilted$/,
      ],
      ['a reply that is an error', '', 'fetch("/missing")', /^an error on the console: .*404/],
      ['an inline script', '<script>1</script>', '', againstPolicy],
      ['an inline style', '<p style="color: red">Alder</p>', '', againstPolicy],
      ['eval', '', 'try { eval("1") } catch {}', againstPolicy],
      [
        'a request to another origin',
        '',
        'fetch("http://localhost:9/")',
        /^a request to http:\/\/localhost:9\/$/,
      ],
      [
        'a WebSocket to another origin',
        '',
        'new WebSocket("ws://localhost:9/")',
        /^a request to http:\/\/localhost:9\/$/,
      ],
    ];
  for (const [what, body, script, found] of faulty) {
    test(`finds fault with ${what}`, async (t) => {
      const origin = await serve(t, html(body), script);
      const page = await openPage(t, origin, { expected: /./ });
      const faults = await watchFaults(page, origin);
      await page.goto(origin, { waitUntil: 'networkidle' });
      assert(
        faults.some((fault) => found.test(fault)),
        `not among: ${faults.join('; ')}`,
      );
    });
  }

  test('fails the test whose page has a fault, unless the test has brought it about', async (t) => {
    const origin = await serve(t, html(''), 'console.error("wilted")');
    for (const expected of [undefined, /wilted/]) {
      const atEnd: (() => unknown)[] = [];
      const page = await openPage(
        { after: (cleanup) => atEnd.push(cleanup) },
        origin,
        expected && { expected },
      );
      await page.goto(origin);
      const ended = (async () => {
        for (const cleanup of atEnd) await cleanup();
      })();
      await (expected ? ended : assert.rejects(ended, /wilted/));
    }
  });

  test('finds barriers for people with disabilities under a strict policy, and takes pictures if asked', async (t) => {
    const origin = await serve(t, html('<img src="data:,">'), '');
    const page = await openPage(t, origin);
    await page.goto(origin);
    await assert.rejects(assertAccessible(page), /image-alt: .*: img/);
    await page.evaluate('document.querySelector("img").remove()');
    await assertAccessible(page);

    const picture = join(screenshotFolder, 'test.png');
    const asked = process.env['SCREENSHOTS'];
    t.after(() => {
      rmSync(picture, { force: true });
      if (asked === undefined) delete process.env['SCREENSHOTS'];
      else process.env['SCREENSHOTS'] = asked;
    });
    delete process.env['SCREENSHOTS'];
    await screenshot(page, 'test');
    assert(!existsSync(picture));
    process.env['SCREENSHOTS'] = 'taken';
    await screenshot(page, 'test');
    assert(existsSync(picture));
  });
});
