import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ask } from '../helpers/operators.ts';
import { oneThread, startServerOnNewStore } from '../helpers/program.ts';
import { done, doneJson, on } from '../helpers/run-here.ts';

const server = await startServerOnNewStore({ after }, ...oneThread);
const { port } = new URL(server.opsUrl);
const there = [...on(server.store), '--ops-port', port];
const linkForm = /^http:\/\/127\.0\.0\.1:\d+\/#\/sign-in\?link=([A-Za-z0-9_-]{43})$/;

async function nameSignedInBy(url: string): Promise<unknown> {
  const link = linkForm.exec(url)?.[1];
  return (await ask(server, 'POST api/session', { json: { link } })).body.name;
}

test('open prints a link to the console that signs in', async () => {
  const { stdout, stderr } = await done('open', ...there);
  assert.match(stderr, /^The link signs in once, within 60 seconds\.\n$/);
  assert.equal(await nameSignedInBy(stdout.trim()), 'command line');

  const beganMs = Date.now();
  const inJson = await doneJson('open', ...there);
  assert.match(inJson.url, linkForm);
  const validMs = Date.parse(inJson.expiresAt) - beganMs;
  assert(validMs >= 60_000 && validMs < 70_000, `${validMs}`);
});
