import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { browserCommand } from '../../src/cli/operator/browser.ts';
import { oneThread, startServerOnNewStore, temporaryFolder } from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';
import { hasTerminal, onTerminal } from '../helpers/terminal.ts';

const server = await startServerOnNewStore({ after }, ...oneThread);
const { port } = new URL(server.opsUrl);
const there = ['--store', `sqlite:${server.store}`, '--ops-port', port];
const linkForm = /^http:\/\/127\.0\.0\.1:\d+\/#\/sign-in\?link=([A-Za-z0-9_-]{43})$/;

async function nameSignedInBy(url: string): Promise<unknown> {
  const reply = await fetch(`${server.opsUrl}api/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ link: linkForm.exec(url)?.[1] }),
  });
  return ((await reply.json()) as { name?: string }).name;
}

test('open prints a link to the console that signs in', async () => {
  const { code, stdout, stderr } = await runHere(['open', ...there]);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^The link signs in once, within 60 seconds\.\n$/);
  assert.equal(await nameSignedInBy(stdout.trim()), 'command line');

  const beganMs = Date.now();
  const inJson = JSON.parse((await runHere(['open', '--json', ...there])).stdout);
  assert.match(inJson.url, linkForm);
  const validMs = Date.parse(inJson.expiresAt) - beganMs;
  assert(validMs >= 60_000 && validMs < 70_000, `${validMs}`);
});

test('open takes the address of the console in browsers, and asks the service at its own address', async () => {
  const named = ['--ops-url', 'https://ops.example.org', '--ops-host', '0.0.0.0'];
  const { stdout } = await runHere(['open', ...named, ...there]);
  assert.match(stdout, /^https:\/\/ops\.example\.org\/#\/sign-in\?link=/);
});

test('open makes no link where no Plant Store answers', async (t) => {
  const other = createServer((_, reply) => reply.end('{"status":"up"}')).listen(0, '127.0.0.1');
  t.after(() => other.close());
  await once(other, 'listening');
  const { port: wrong } = other.address() as AddressInfo;
  const found = await runHere([
    'open',
    '--store',
    `sqlite:${server.store}`,
    '--ops-port',
    `${wrong}`,
  ]);
  assert.deepEqual([found.code, found.stdout], [1, '']);
  assert.match(found.stderr, /\(the reply is not from Plant Store\)\n$/);
  const off = await runHere(['open', '--ops-port', 'off']);
  assert.match(off.stderr, /^plant-store: --ops-port off leaves no port to open the console\n$/);
});

test('on a terminal with a desktop, open gives the link to the browser and does not print it', async (t) => {
  if (!hasTerminal(t)) return;
  const folder = await temporaryFolder(t);
  const opened = join(folder, 'opened');
  const program = join(folder, 'xdg-open');
  const PATH = `${folder}:${process.env['PATH']}`;
  const withBrowser = (script: string, ...args: string[]) => {
    writeFileSync(program, `#!/bin/sh\n${script}\n`);
    chmodSync(program, 0o755);
    return onTerminal(200, ['open', ...there, ...args], { PATH, DISPLAY: ':0' });
  };

  const shown = await withBrowser(`printf %s "$1" > '${opened}'`);
  assert.match(shown, /The browser opens the console at http:\/\/127\.0\.0\.1:\d+\/\s/);
  assert.doesNotMatch(shown, /link=/);
  assert.equal(await nameSignedInBy(readFileSync(opened, 'utf8')), 'command line');

  for (const printed of [await withBrowser('exit 3'), await withBrowser('exit 0', '--print')]) {
    const [url = ''] = printed.split(/\s/);
    assert.equal(await nameSignedInBy(url), 'command line', printed);
  }
});

test('a browser is opened on a desktop only, and not on the far side of ssh', () => {
  assert.deepEqual(browserCommand('linux', { WAYLAND_DISPLAY: 'wayland-0' }), ['xdg-open']);
  assert.deepEqual(browserCommand('linux', { DISPLAY: ':0' }), ['xdg-open']);
  assert.equal(browserCommand('linux', {}), undefined);
  assert.deepEqual(browserCommand('darwin', {}), ['open']);
  assert.equal(browserCommand('win32', {})?.[0], 'cmd.exe');
  assert.equal(browserCommand('darwin', { SSH_CONNECTION: '10.0.0.1 1 10.0.0.2 22' }), undefined);
});
