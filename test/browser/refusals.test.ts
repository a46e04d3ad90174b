import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { pause } from '../helpers/pause.ts';
import { create, type Owner } from '../helpers/program.ts';
import { alterStore } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';
import {
  assertAccessible,
  assertFits,
  inReverse,
  openPage,
  type PageOptions,
  screenshot,
  withoutChromium,
} from './chromium.ts';
import { openConsole, type ServerWithOperator, startWithOperator } from './console.ts';

/** What the browser logs of replies that the tests provoke. */
const expected = /the server responded with a status of 40[14]/;

describe('the page of refusals', { skip: withoutChromium(), concurrency: 3 }, () => {
  const atEnd: (() => unknown)[] = [];
  const owner = { after: (cleanup: () => unknown) => atEnd.unshift(cleanup) };
  let started: ServerWithOperator;
  let orchard: string;

  before(async () => {
    started = await startWithOperator(owner);
    orchard = await storedToken(started.store, 'orchard');
    await send('{"id":1,"name":"Alder"}');
    await send('{"id":1,"name":"Birch"}', orchard);
    await send('{"id":1');
    await send('{"id":2.5,"name":"Elm"}', orchard);
    await send('{"id":3,"name":"Rowan"}', await expiredToken());
    await send('{"id":3,"name":"Rowan"}', 'ps_made-up');
  });
  after(async () => {
    for (const cleanup of atEnd) await cleanup();
  });

  const expiredToken = () => storedToken(started.store, 'nursery-2025', { validMs: 1 });

  /** @returns the request id */
  async function send(body: string, token?: string, to = started): Promise<string> {
    const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    const reply = await create(to.server.plantsUrl, body, headers);
    await reply.arrayBuffer();
    return reply.headers.get('X-Request-Id') ?? '';
  }

  async function open(t: Owner, hash: string, options: PageOptions = {}, to = started) {
    const page = await openPage(t, new URL(to.server.opsUrl).origin, { expected, ...options });
    await openConsole(page, to, hash);
    return page;
  }

  const rowOf = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });

  test('shows who was refused, with which message, and what the client can do', async (t) => {
    const page = await open(t, '#/refusals');
    const row = rowOf(page, '40004 id taken');
    await row.getByText('orchard').waitFor();
    await row.getByText('127.0.0.1').waitFor();
    await row.getByText('The id 1 belongs to a plant with another name or tag.').waitFor();
    await row.getByRole('button', { name: '40004 id taken' }).click();
    const dialog = page.getByRole('dialog', { name: '40004 id taken' });
    await dialog.getByText('Choose another id.').waitFor();
    assert.equal(
      await dialog.getByRole('link', { name: '1', exact: true }).getAttribute('href'),
      '#/plants/1',
    );
    await assertAccessible(page);
    await screenshot(page, 'console-refusal');
    await dialog.getByRole('link', { name: 'A link to this request' }).click();
    await page.getByRole('heading', { level: 1, name: /^Request [0-9a-f]{14}-\w+$/ }).waitFor();
    await page.getByText('POST /plants').waitFor();
    await page.route('**/api/requests/*', async (route) => {
      const response = await route.fetch();
      const forgotten = { client: '', method: null, path: null };
      await route.fulfill({ response, json: { ...(await response.json()), ...forgotten } });
    });
    await page.reload();
    for (const fact of ['Client', 'Request'])
      await page.getByText(new RegExp(`^${fact}\\s*not known$`)).waitFor();
    await page.unroute('**/api/requests/*');
    await page.getByRole('link', { name: 'All refusals' }).click();
    await rowOf(page, '40002 id not int64').locator('code', { hasText: /^id$/ }).waitFor();
    await row.getByRole('link', { name: 'orchard' }).click();
    await page.getByRole('heading', { level: 1, name: 'Token orchard' }).waitFor();

    await page.goto(`${started.server.opsUrl}#/refusals/nothing-1`);
    await page.getByRole('status').getByText('The service remembers no request').waitFor();
    await page.goto(`${started.server.opsUrl}#/refusals/no%20id`);
    await page.getByRole('heading', { level: 1, name: 'Request no id' }).waitFor();
  });

  test('shows the cause of a failure, which the client did not get', async (context) => {
    const t = inReverse(context);
    const other = await startWithOperator(t);
    alterStore(
      other.store,
      "CREATE TRIGGER wrong BEFORE INSERT ON plants BEGIN SELECT RAISE(ABORT, 'wrong'); END",
    );
    await send('{"id":1,"name":"Alder"}', undefined, other);
    const page = await open(t, '#/refusals', {}, other);
    const row = rowOf(page, '50000 defect');
    const cause = 'a defect of the service; the log has the defect under the request id';
    await row.getByText(`Cause: ${cause}`).waitFor();
    await row.getByRole('button', { name: '50000 defect' }).click();
    await page.getByRole('dialog').getByText(cause, { exact: true }).waitFor();
    await assertAccessible(page);
  });

  test('shows the refusals of one code and of one token, at an address that can be shared', async (t) => {
    const page = await open(t, '#/refusals?code=40004');
    await page.getByText('Live: 1 request.').waitFor();
    assert.equal(await page.getByLabel('Code').inputValue(), '40004');
    await page.getByLabel('Code').selectOption('40000');
    await rowOf(page, '40000 body malformed').first().waitFor();
    await page.getByRole('combobox', { name: 'Token' }).fill('orchard');
    await page.getByText('No remembered refusal matches').waitFor();
    await page.getByRole('combobox', { name: 'Token' }).fill('Orchard');
    await page.getByRole('button', { name: 'Search for orchard' }).click();
    assert.match(page.url(), /#\/refusals\?code=40000&token=orchard$/);
    await page.getByRole('button', { name: 'Show all refusals' }).click();
    await rowOf(page, '40004 id taken').getByRole('button', { name: '40004 id taken' }).click();
    await page.getByRole('button', { name: 'Only this token' }).click();
    await page.getByText('Live: 2 requests.').waitFor();
    assert.match(page.url(), /#\/refusals\?token=orchard$/);

    await page.getByRole('combobox', { name: 'Token' }).fill('');
    await page.getByLabel('Only without a valid token').check();
    await page.waitForURL(/#\/refusals\?validToken=false$/);
    await page.getByText('Live: 2 requests.').waitFor();
    await rowOf(page, 'nursery-2025').waitFor();
    await page.getByText('By client: 127.0.0.1: 2', { exact: true }).waitFor();
    assert.equal(await rowOf(page, 'orchard').count(), 0);
  });

  test('adds what comes, but moves no row under the pointer, with the focus, or in a pause', async (context) => {
    const t = inReverse(context);
    const other = await startWithOperator(t);
    const page = await open(t, '#/refusals', {}, other);
    const rows = page.locator('tbody tr');
    await page.getByText('Nothing was refused').waitFor();
    await assertAccessible(page);
    await screenshot(page, 'console-refusals-none');
    const refuse = () => send('{', undefined, other);
    await refuse();
    await page.getByText('Live: 1 request.').waitFor();
    await rows.first().hover();
    await refuse();
    await page.getByRole('button', { name: '1 new' }).waitFor();
    assert.equal(await rows.count(), 1);
    await page.getByRole('heading', { level: 1 }).hover();
    await page.getByText('Live: 2 requests.').waitFor();

    await page.getByRole('button', { name: 'Pause' }).click();
    await refuse();
    await page.getByRole('button', { name: '1 new' }).waitFor();
    assert.equal(await rows.count(), 2);
    await page.getByRole('button', { name: '1 new' }).click();
    assert.equal(await rows.count(), 3);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('Live: 3 requests.').waitFor();

    await rows.first().getByRole('button', { name: '40000' }).focus();
    const id = await refuse();
    await page.getByRole('button', { name: '1 new' }).waitFor();
    assert.equal(await rows.count(), 3);
    await page.getByRole('heading', { level: 1 }).focus();
    await rowOf(page, id).waitFor();
    assert.equal(await rows.count(), 4);
  });

  test('copies a request id, and shows a sample of the accepted creates', async (t) => {
    const page = await open(t, '#/refusals');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const row = rowOf(page, '40004 id taken');
    const requestId = await row.locator('code').last().innerText();
    await row.getByRole('button', { name: '40004' }).click();
    const details = page.getByRole('dialog');
    // The text is gone after some seconds.
    await Promise.all([
      details.getByText('Copied').first().waitFor(),
      details.getByRole('button', { name: 'Copy the request id' }).click(),
    ]);
    assert.equal(await page.evaluate<string>('navigator.clipboard.readText()'), requestId);
    await details.getByRole('button', { name: 'Close' }).click();

    // As a client has it from its reply.
    const field = page.getByRole('textbox', { name: 'Request id' });
    await field.press('Enter');
    await page.getByRole('alert').getByText('A request id is').waitFor();
    await field.fill(` ${requestId} `);
    await field.press('Enter');
    await page.getByRole('heading', { level: 1, name: `Request ${requestId}` }).waitFor();
    await page.goBack();
    await row.waitFor();

    await page.getByLabel('Show accepted creates (sample)').check();
    await page.waitForResponse(/creates=true/);
    const sampled = page.getByRole('row').filter({ hasText: 'The same plant was stored before' });
    // One create a second is in the sample.
    for (; (await sampled.count()) === 0; await pause()) await send('{"id":1,"name":"Alder"}');
    await sampled.first().getByText('same', { exact: true }).waitFor();
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`is accessible in ${colorScheme} colours, and no wider than any window`, async (t) => {
      const page = await open(t, '#/refusals', { colorScheme });
      await rowOf(page, '40004 id taken').waitFor();
      await assertAccessible(page);
      await screenshot(page, `console-refusals-${colorScheme}`);
      await assertFits(page);
      await assertAccessible(page);
      for (const width of [1_440, 820, 390]) {
        await page.setViewportSize({ width, height: 740 });
        const ids = rowOf(page, '40004 id taken').getByText(/^[0-9a-f]{14}-\w+$/);
        assert.equal(await ids.filter({ visible: true }).count(), 1, `at ${width} px`);
      }
      if (colorScheme === 'light') await screenshot(page, 'console-refusals-phone');
    });
  }
});
