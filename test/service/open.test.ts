import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { oneThread, startServerOnNewStore } from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';

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
