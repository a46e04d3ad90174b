import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { type Problem, problems } from '../../src/contract/problems.ts';
import {
  inReverse,
  type RunningServer,
  type ServerWithStore,
  startServerOnNewStore,
  token,
} from '../helpers/program.ts';
import { storedPlants } from '../helpers/store-file.ts';
import {
  assertAccessible,
  openPage,
  type PageOptions,
  screenshot,
  withoutChromium,
} from './chromium.ts';

async function openReference(
  t: TestContext,
  { plantsUrl }: RunningServer,
  options?: PageOptions,
): Promise<Page> {
  const page = await openPage(t, new URL(plantsUrl).origin, options);
  await page.goto(plantsUrl.replace(/plants$/, 'docs'));
  // The script of the page has the whole address.
  await page.getByText(plantsUrl, { exact: true }).waitFor();
  return page;
}

/** Creates a plant by the form. @returns the status and the reply that the page shows */
async function create(page: Page, fields: Readonly<Record<string, string>>): Promise<string> {
  for (const [label, value] of Object.entries(fields))
    await page.getByLabel(label, { exact: true }).fill(value);
  await page.getByRole('button', { name: 'Create the plant' }).click();
  return answer(page);
}

async function answer(page: Page): Promise<string> {
  const shown = page.getByRole('status');
  const [status, reply] = await Promise.all([
    shown.locator('.badge').innerText(),
    shown.locator('pre').innerText(),
  ]);
  return `${status} ${reply}`;
}

/** Texts that a reader would have to scroll sideways. */
const cutTexts = `[...document.querySelectorAll('pre, .errors')]
  .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.innerText)`;

const isReplyInSight = `(() => {
  const { top, bottom } = document.getElementById('reply-shown').getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
})()`;

/** What the page has kept where it would outlast it. */
function kept(page: Page): Promise<string> {
  return page.evaluate<string>(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])',
  );
}

describe('the reference page', { skip: withoutChromium() }, () => {
  const file = inReverse({ after });
  let atRoot: ServerWithStore;
  before(async () => {
    atRoot = await startServerOnNewStore(file);
  });

  for (const basePath of ['/', '/garden']) {
    test(`below ${basePath}, a plant that is created through it is in the store, with its exact id`, async (t) => {
      const server =
        basePath === '/' ? atRoot : await startServerOnNewStore(t, '--base-path', basePath);
      const page = await openReference(t, server);

      const plant = { id: '9223372036854775807', name: 'Wild "pear"', tag: 'Pyrus' };
      const reply = await create(page, { Token: token, ...plant });

      assert.match(reply, /^200 OK Plant-Id: 9223372036854775807\nX-Request-Id: /);
      assert.match(reply, /\n\{"name":"Wild \\"pear\\"","tag":"Pyrus"\}$/);
      assert.deepEqual(storedPlants(server.store), [[2n ** 63n - 1n, plant.name, plant.tag]]);
      if (basePath === '/') await screenshot(page, 'reference-page');
    });
  }

  test('a plant without a tag is created without a tag', async (t) => {
    const page = await openReference(t, atRoot);
    await page.getByLabel('Send a tag').uncheck();
    await create(page, { Token: token, id: '-5', name: '' });
    assert.deepEqual(storedPlants(atRoot.store)[0], [-5n, '', null]);
  });

  test('it shows a refusal as the service has sent it, with the remedy of its code', async (t) => {
    const page = await openReference(t, atRoot, { expected: /40[01]/ });
    const refused = await create(page, { Token: 'not-a-token' });
    assert.match(refused, /^401 Unauthorized X-Request-Id: .*\n\{"error":40101,/s);
    const status = page.getByRole('status');
    await status.getByText('40101: Get a new token from the operator').waitFor();
    assert.match(await create(page, { Token: token, id: '1.5' }), /^400 .*"error":40002,/s);
    await status.getByRole('link', { name: '40002' }).click();
    await page.locator('tr:target', { hasText: 'has a fraction or is out of range' }).waitFor();
    await page.getByLabel('Token', { exact: true }).fill('жетон');
    await page.getByRole('button', { name: 'Create the plant' }).click();
    await status.getByText('Nothing was sent (').waitFor();
  });

  test('the token is forgotten with the page, and is in the sample only while it is shown', async (t) => {
    const page = await openReference(t, atRoot, { expected: /401/ });
    const text = () => page.locator('body').innerText();
    assert.match(await create(page, { Token: token }), /^200 /);
    assert(!(await kept(page)).includes(token));
    assert(!(await text()).includes(token));
    await page.getByLabel('Show').check();
    assert((await text()).includes(`Authorization: Bearer ${token}`));
    await page.reload();
    assert.match(await create(page, {}), /^401 .*"error":40100,/s);
  });

  test('the sample follows the form, and can be copied', async (t) => {
    const page = await openReference(t, atRoot);
    await page.getByLabel('id', { exact: true }).fill(' 0009007199254740997 ');
    assert.match(await page.getByLabel('Sample in curl').innerText(), /\{"id":9007199254740997,/);
    await page.getByRole('button', { name: 'Copy' }).click();
    // A page has no clipboard while another page of the browser is in front.
    await page.getByText(/^Copied\.|^Selected: press/).waitFor();
    assert.match(
      await page.evaluate('getSelection().toString()'),
      /^curl .*"id":9007199254740997,/s,
    );
  });

  test('it can be used with the keyboard alone', async (t) => {
    const page = await openReference(t, atRoot);
    const { keyboard } = page;
    const type = async (text: string, on: Locator) => {
      for (let tabs = 0; tabs < 50 && !(await isFocused(page, on)); tabs += 1)
        await keyboard.press('Tab');
      await keyboard.press('ControlOrMeta+a');
      await keyboard.insertText(text);
    };
    await type(token, page.getByLabel('Token', { exact: true }));
    await type('77', page.getByLabel('id', { exact: true }));
    await keyboard.press('Enter');
    assert.match(await answer(page), /^200 OK Plant-Id: 77\n/);
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`it is accessible in ${colorScheme} colours, and no wider than a phone`, async (t) => {
      const page = await openReference(t, atRoot, { colorScheme, expected: /401/ });
      for (const width of [390, 1440]) {
        await page.setViewportSize({ width, height: 900 });
        await create(page, { Token: 'not-a-token' });
        await assertAccessible(page);
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width);
        assert.deepEqual(await page.evaluate(cutTexts), []);
        assert(await page.evaluate(isReplyInSight), `${width}`);
      }
    });
  }

  test('without JavaScript, the page has everything except the form', async () => {
    const html = await (await fetch(atRoot.plantsUrl.replace(/plants$/, 'docs'))).text();
    for (const { code } of Object.values<Problem>(problems))
      assert(html.includes(`id="error-${code}"`), `${code}`);
    assert(html.includes('Sample in curl'));
  });
});

function isFocused(page: Page, on: Locator): Promise<boolean> {
  return on
    .and(page.locator(':focus'))
    .count()
    .then((count) => count > 0);
}
