import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { changesIn, killedAt } from '../../helpers/kill.ts';
import { create, oneThread, startServer, temporaryFolder } from '../../helpers/program.ts';

test('a server killed at its very first start starts on what is left, and its first token is admitted', async (t) => {
  const folder = join(await temporaryFolder(t), 'store');
  mkdirSync(folder);
  const store = join(folder, 'plants.db');
  await killedAt(changesIn(folder, 4), store);
  assert(readdirSync(folder).length > 0, 'it was killed before it had begun');

  const { plantsUrl } = await startServer(t, store, oneThread, {});

  const token = readFileSync(join(folder, 'first-start.token'), 'utf8').trim();
  const authorization = { Authorization: `Bearer ${token}` };
  assert.equal((await create(plantsUrl, { id: 1, name: 'Alder' }, authorization)).status, 200);
});
