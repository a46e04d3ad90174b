import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import {
  type RunningServer,
  type ServerWithStore,
  startServerOnNewStore,
  token,
} from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';
import { openPage, type PageOptions, screenshot, withoutChromium } from './chromium.ts';

/** More digits than a number of JavaScript holds. */
const plant = '{"id": 9007199254740993, "name": "Alder", "tag": "Alnus"}';

async function openReference(
  t: TestContext,
  { plantsUrl }: RunningServer,
  options?: PageOptions,
): Promise<Page> {
  const page = await openPage(t, new URL(plantsUrl).origin, options);
  await page.goto(plantsUrl.replace(/plants$/, 'docs'));
  await page.getByRole('button', { name: 'Execute' }).waitFor();
  return page;
}

async function pasteToken(page: Page, text: string): Promise<void> {
  await page.getByRole('button', { name: 'Authorize' }).click();
  await page.getByLabel('auth-bearer-value').fill(text);
  await page.getByRole('button', { name: 'Apply credentials' }).click();
  await page.getByRole('button', { name: 'Close' }).click();
}

/** @returns the status and the body that the page shows */
async function create(page: Page): Promise<string> {
  await page.locator('textarea').fill(plant);
  await page.getByRole('button', { name: 'Execute' }).click();
  return answer(page);
}

async function answer(page: Page): Promise<string> {
  const row = page.locator('.live-responses-table .response');
  const [status, body] = await Promise.all([
    row.locator('.response-col_status').innerText(),
    row.locator('pre').first().innerText(),
  ]);
  return `${status.trim()} ${JSON.stringify(JSON.parse(body))}`;
}

/** What the page has kept where it would outlast it. */
function kept(page: Page): Promise<string> {
  return page.evaluate<string>(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])',
  );
}

describe('the reference page', { skip: withoutChromium() }, () => {
  const atEnd: (() => unknown)[] = [];
  let atRoot: ServerWithStore;
  before(async () => {
    atRoot = await startServerOnNewStore({ after: (cleanup) => atEnd.unshift(cleanup) });
  });
  after(async () => {
    for (const cleanup of atEnd) await cleanup();
  });

  for (const basePath of ['/', '/garden']) {
    test(`below ${basePath}, a plant that is created through it with a pasted token is in the store, with its exact id`, async (t) => {
      const server =
        basePath === '/' ? atRoot : await startServerOnNewStore(t, '--base-path', basePath);
      const page = await openReference(t, server);

      await pasteToken(page, token);
      assert.equal(await create(page), '200 {"name":"Alder","tag":"Alnus"}');

      const { stdout } = await runHere([
        'plants',
        'get',
        '9007199254740993',
        '--store',
        `sqlite:${server.store}`,
      ]);
      assert.equal(stdout, '{"id":9007199254740993,"name":"Alder","tag":"Alnus"}\n');
      await page.locator('.live-responses-table').scrollIntoViewIfNeeded();
      await screenshot(page, basePath === '/' ? 'reference-page' : 'reference-page-below-garden');
    });
  }

  test('it shows a refusal as the service has sent it', async (t) => {
    const page = await openReference(t, atRoot, { expected: /401/ });
    await pasteToken(page, 'not-a-token');
    assert.match(await create(page), /^401 {"error":40101,/);
  });

  test('the token is forgotten with the page', async (t) => {
    const page = await openReference(t, atRoot, { expected: /401/ });
    await pasteToken(page, token);
    assert.match(await create(page), /^200 /);
    assert(!(await kept(page)).includes(token));
    await page.reload();
    assert.match(await create(page), /^401 {"error":40100,/);
  });

  test('it can be used with the keyboard alone', async (t) => {
    const page = await openReference(t, atRoot);
    const { keyboard } = page;
    const press = async (key: string, on: Locator) => {
      await on.waitFor();
      for (
        let tabs = 0;
        tabs < 100 && (await on.and(page.locator(':focus')).count()) === 0;
        tabs += 1
      )
        await keyboard.press('Tab');
      await keyboard.press(key);
    };

    await press('Enter', page.getByRole('button', { name: 'Authorize' }));
    await press('Home', page.getByLabel('auth-bearer-value'));
    await keyboard.insertText(token);
    await keyboard.press('Enter');
    await press('Enter', page.getByRole('button', { name: 'Close' }));
    await press('ControlOrMeta+a', page.locator('textarea'));
    await keyboard.insertText(plant);
    await press('Enter', page.getByRole('button', { name: 'Execute' }));

    assert.equal(await answer(page), '200 {"name":"Alder","tag":"Alnus"}');
  });

  test('it is light or dark as the browser is, also when that changes', async (t) => {
    const page = await openReference(t, atRoot, { colorScheme: 'dark' });
    const brightness = () =>
      page.evaluate(
        'Number(/[0-9]+/.exec(getComputedStyle(document.querySelector(".swagger-ui")).color)[0])',
      );
    assert(Number(await brightness()) > 200, 'its text is light');
    await screenshot(page, 'reference-page-dark');
    await page.emulateMedia({ colorScheme: 'light' });
    await page.locator('html:not(.dark-mode)').waitFor();
    assert(Number(await brightness()) < 100, 'its text is dark');
  });
});
