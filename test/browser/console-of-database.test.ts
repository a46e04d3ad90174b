import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPostgres } from '../helpers/postgres.ts';
import { create, startServer } from '../helpers/program.ts';
import { storedToken } from '../helpers/stored-token.ts';
import { assertAccessible, inReverse, openPage, withoutChromium } from './chromium.ts';
import { openConsole } from './console.ts';

const unavailable = /the server responded with a status of (401|503)/;

test('the console shows a store in a database, and says so when that is away and when it is back', {
  skip: withoutChromium(),
  timeout: 300_000,
}, async (context) => {
  const t = inReverse(context);
  const database = await startPostgres(t);
  const store = await database.makeDatabase();
  const secret = await storedToken(store, 'alice', { role: 'operate' });
  const server = await startServer(t, store);
  await create(server.plantsUrl, { id: 1, name: 'Alder' });
  const page = await openPage(t, new URL(server.opsUrl).origin, { expected: unavailable });
  await openConsole(page, { server, store, secret });

  const facts = page.locator('section', { has: page.getByRole('heading', { name: 'Store' }) });
  await facts
    .getByText('each plant is on the disk of the server before it is acknowledged')
    .waitFor();
  // The database may take longer to tell its size than the page waits for it.
  await facts.getByText('Size').waitFor();
  assert.deepEqual(await facts.locator('dt').allTextContents(), [
    'Place',
    'Plants',
    'Size',
    'A 200 means',
  ]);
  assert.equal(await facts.locator('code').textContent(), store);
  await page.getByText('This store knows of no backup').waitFor();
  await page.getByText('Ready', { exact: true }).waitFor();
  await assertAccessible(page);

  await database.kill();
  await page.getByRole('alert').getByText('The store cannot do this now: ').waitFor();
  await page.getByText('Not known', { exact: true }).waitFor();
  await page.getByText('Not known at the moment').waitFor();
  assert.equal(await page.getByText('The store cannot do this now').count(), 1);
  await database.start();
  await page.getByText('Ready', { exact: true }).waitFor();
  await page.getByText('The store cannot do this now').waitFor({ state: 'detached' });
});
