import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { pause } from '../helpers/pause.ts';
import { create } from '../helpers/program.ts';
import { alterStore } from '../helpers/store-file.ts';
import {
  assertAccessible,
  assertFits,
  inReverse,
  openPage,
  type PageOptions,
  screenshot,
  withoutChromium,
} from './chromium.ts';
import {
  commonPlants,
  openConsole,
  type ServerWithOperator,
  startWithOperator,
} from './console.ts';

/** The last of the common plants has the id of their number. */
const last = commonPlants.length;
const dayMs = 86_400_000;
/** What the browser logs before a sign-in, and of ids without a plant. */
const expected = /the server responded with a status of 40[014]/;

describe('the page of plants', { skip: withoutChromium(), concurrency: 3 }, () => {
  const atEnd: (() => unknown)[] = [];
  let started: ServerWithOperator;

  before(async () => {
    started = await startWithOperator({ after: (cleanup) => atEnd.unshift(cleanup) });
    for (const plant of commonPlants) await create(started.server.plantsUrl, plant);
    // Half of the plants were imported two days ago.
    alterStore(
      started.store,
      `UPDATE plants SET created_at = ${Date.now() - 2 * dayMs}, created_by = -1 WHERE id <= ${last / 2}`,
    );
  });
  after(async () => {
    for (const cleanup of atEnd) await cleanup();
  });

  async function openPlants(t: Parameters<typeof openPage>[0], query = '', options?: PageOptions) {
    const page = await openPage(t, new URL(started.server.opsUrl).origin, {
      expected,
      ...options,
    });
    await openConsole(page, started, `#/plants${query}`);
    return page;
  }
  const rows = (page: Page) => page.getByRole('table', { name: 'Plants' }).locator('tbody tr');
  const shown = (page: Page) => page.getByText('50 plants shown, more on the next page.').waitFor();
  const firstId = (page: Page) => rows(page).first().getByRole('rowheader').innerText();

  test('pages are links, in either order, and lead on and back', async (t) => {
    const page = await openPlants(t);
    await shown(page);
    const newest = await firstId(page);
    await page.getByText('By id').click();
    await page.waitForURL(/#\/plants\?order=id$/);
    await rows(page).first().getByRole('link', { name: '1', exact: true }).waitFor();
    assert.notEqual(newest, '1');

    await page.getByRole('link', { name: 'Next' }).click();
    await page.waitForURL(/#\/plants\?order=id&after=50$/);
    await rows(page).first().getByRole('link', { name: '51', exact: true }).waitFor();
    const top = () => page.evaluate<number>('scrollY');
    const atTop = async (of: number) => {
      while ((await top()) !== of) await pause();
    };
    await rows(page).nth(40).scrollIntoViewIfNeeded();
    while ((await page.evaluate('history.state.top')) !== (await top())) await pause();
    const scrolled = await top();
    assert(scrolled > 0);
    await rows(page)
      .nth(40)
      .click({ position: { x: 5, y: 5 } });
    await page.getByRole('heading', { level: 1, name: 'Plant 91' }).waitFor();
    await atTop(0);
    // The list comes later than the page.
    const held = Promise.withResolvers<void>();
    await page.route('**/api/plants?*', async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Plants' }).waitFor();
    held.resolve();
    await rows(page).first().getByRole('link', { name: '51', exact: true }).waitFor();
    await atTop(scrolled);
    await page.getByRole('button', { name: 'Previous' }).click();
    await rows(page).first().getByRole('link', { name: '1', exact: true }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Previous' }).count(), 0);

    await page.goto(`${started.server.opsUrl}#/plants?order=id&after=${last - 2}`);
    await page.getByText('2 plants, and no more.').waitFor();
    await page.getByRole('link', { name: 'First page' }).click();
    await shown(page);
  });

  test('filters find what came in when, and by whom', async (t) => {
    const page = await openPlants(t);
    await shown(page);
    await page.getByLabel('Created by').fill('import');
    await page.waitForURL(/#\/plants\?createdBy=import$/);
    await page.getByLabel('Name contains').fill('MAPLE');
    await page.getByRole('heading', { name: 'No plant matches' }).waitFor();
    await page.getByRole('button', { name: 'Ignore case' }).click();
    await page.waitForURL(/name=MAPLE&ignoreCase=true&createdBy=import$/);
    await rows(page).first().waitFor();
    assert(await page.getByLabel('Ignore case in').isChecked());
    const names = await rows(page).locator('td:nth-child(2)').allInnerTexts();
    assert(names.length > 0 && names.every((name) => /maple/i.test(name)), `${names}`);

    const ofTime = (title: string) => page.getByRole('button', { name: title, pressed: true });
    await ofTime('Any time').waitFor();
    await page.getByRole('button', { name: 'Last 24 h' }).click();
    await ofTime('Last 24 h').waitFor();
    assert.equal(await ofTime('Any time').count(), 0);
    await page.getByRole('heading', { name: 'No plant matches' }).waitFor();
    await page.getByRole('button', { name: 'At any time' }).click();
    await rows(page).first().waitFor();
    await page.getByRole('link', { name: 'import' }).first().click();
    await page.waitForURL(/#\/plants\?createdBy=import$/);
    await shown(page);
    assert.equal(await page.getByLabel('Name contains').inputValue(), '');
    assert.equal(await page.getByLabel('Created by').inputValue(), 'import');
  });

  test('a filter that is typed on a later page begins at the first page', async (t) => {
    const page = await openPlants(t, '?order=id&after=50');
    await rows(page).first().getByRole('link', { name: '51', exact: true }).waitFor();
    await page.getByLabel('Tag', { exact: true }).fill('Alnus');
    await page.waitForURL(/#\/plants\?order=id&tag=Alnus$/);
  });

  test('all plants that match are counted, and not only those of the page', async (t) => {
    const page = await openPlants(t, '?order=id&createdBy=import&after=50');
    const counts = page.locator('.all-matches');
    await counts.getByRole('button', { name: 'Count' }).click();
    await counts
      .getByRole('status')
      .getByText(`${Math.floor(last / 2)} plants`)
      .waitFor();
    await assertAccessible(page);
    await page.getByLabel('Tag', { exact: true }).fill('none');
    await page.getByRole('heading', { name: 'No plant matches' }).waitFor();
    await counts.getByRole('button', { name: 'Count' }).click();
    await counts.getByRole('status').getByText('No plants').waitFor();
  });

  test('a count is of the filter that was typed just before, and can be repeated', async (t) => {
    const page = await openPlants(t);
    await shown(page);
    const counts = page.locator('.all-matches');
    const number = counts.getByRole('status');
    await page.getByLabel('Created by').fill('import');
    // At once: the address follows after a pause in the typing.
    await page.evaluate("document.querySelector('.all-matches button').click()");
    await page.waitForURL(/createdBy=import$/);
    await number.getByText(`${Math.floor(last / 2)} plants`).waitFor();

    await page.route('**/api/plants/count?*', (route) =>
      route.fulfill({ json: { plants: 7, next: '9' } }),
    );
    const again = counts.getByRole('button', { name: 'Count again' });
    await again.click();
    await counts.getByText(/^Counting: \d+ plants so far, up to id 9…$/).waitFor();
    const stop = counts.getByRole('button', { name: 'Stop' });
    await stop.focus();
    await page.keyboard.press('Enter');
    await number.getByText(/^\d+ plants so far, up to id 9$/).waitFor();
    assert.equal(await counts.locator(':focus').innerText(), 'Go on');
    await assertAccessible(page);
    await page.unroute('**/api/plants/count?*');
    await again.click();
    await number.getByText(`${Math.floor(last / 2)} plants`).waitFor();
  });

  test('a count tells from whom the plants are, most first, and leads to the plants of each', async (t) => {
    const page = await openPlants(t, '?order=id');
    await shown(page);
    const counts = page.locator('.all-matches');
    const creators = page.getByRole('list', { name: 'Plants by creator' });
    const pressCount = () => counts.getByRole('button', { name: /^Count/ }).click();
    const topOfRows = async () => (await rows(page).first().boundingBox())?.y;
    const top = await topOfRows();
    await pressCount();
    const [imported, others] = [Math.floor(last / 2), Math.ceil(last / 2)];
    await creators.getByText(`import ${imported}`).waitFor();
    assert.equal(await creators.getByRole('listitem').count(), 2);
    await creators.getByText(`environment ${others}`).waitFor();
    assert.equal(await topOfRows(), top);
    await assertAccessible(page);

    await page.route('**/api/plants/count?*', (route) => {
      assert(route.request().url().includes('byCreator=true'));
      const names = Array.from(
        { length: 12 },
        (_, index) => `${'greenhouse-'.repeat(7)}${index + 1}`,
      );
      const byCreator = Object.fromEntries(names.map((name, index) => [name, 1_000 + index]));
      return route.fulfill({ json: { plants: 12_066, next: null, byCreator } });
    });
    await pressCount();
    await creators.getByText('and 2 more: 2,001').waitFor();
    assert.match(await creators.getByRole('listitem').first().innerText(), /-12 1,011$/);
    assert.equal(await creators.getByRole('listitem').count(), 11);
    await assertFits(page);
    await page.unroute('**/api/plants/count?*');

    await pressCount();
    await creators.getByRole('link', { name: 'import' }).click();
    await page.waitForURL(/#\/plants\?order=id&createdBy=import$/);
    await pressCount();
    await counts.getByRole('status').getByText(`${imported} plants`).waitFor();
    assert.equal(await creators.count(), 0);
  });

  test('a search that waits for its first answer says so, and can be stopped', async (t) => {
    const page = await openPlants(t);
    await shown(page);
    await page.route('**/api/plants?*', () => undefined);
    await page.reload();
    await page.getByText('Searching…').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.unroute('**/api/plants?*');
    await page.getByRole('button', { name: 'Go on' }).click();
    await shown(page);
  });

  test('a search that goes on after a count has found nothing says that no plant matches', async (t) => {
    const page = await openPlants(t);
    await shown(page);
    await page.route('**/api/plants?*', () => undefined);
    await page.goto(`${started.server.opsUrl}#/plants?name=nothing`);
    await page.locator('.all-matches').getByRole('button', { name: 'Count' }).click();
    await page.getByRole('heading', { name: 'No plant matches' }).waitFor();
    assert.equal(await rows(page).count(), 0);
    await page.unroute('**/api/plants?*');
    await page.getByRole('button', { name: 'Show all plants' }).click();
    await shown(page);
  });

  test('a search for the newest ends when it has found as many plants as a count', async (t) => {
    const page = await openPlants(t);
    await shown(page);
    const one = await page.evaluate<object>("fetch('/api/plants?limit=1').then((it) => it.json())");
    const part = { plants: [], next: 'j1.1', reachedAt: null };
    let answers = 0;
    await page.route('**/api/plants?*', (route) =>
      route.fulfill({ json: answers++ === 0 ? { ...one, next: part.next } : part }),
    );
    const counted = Promise.withResolvers<void>();
    await page.route('**/api/plants/count?*', async (route) => {
      const isFirst = !route.request().url().includes('after=5');
      if (!isFirst) await counted.promise;
      await route.fulfill({ json: isFirst ? { plants: 0, next: '5' } : { plants: 1, next: null } });
    });
    await page.goto(`${page.url()}?createdBy=import`);
    await page.getByText('Searching, 1 plant so far…').waitFor();
    counted.resolve();
    await page.getByText('1 plant, and no more.').waitFor();
  });

  test('a search that was stopped or has failed can go on, and has no next page yet', async (t) => {
    const page = await openPlants(t, '', {
      expected: new RegExp(`${expected.source}|status of 503`),
    });
    await shown(page);
    const next = page.getByRole('link', { name: 'Next' });
    const part = { plants: [], next: 'j1.1', reachedAt: null };
    const found = await page.evaluate<object>(
      "fetch('/api/plants?limit=1').then((it) => it.json())",
    );
    let answers = 0;
    await page.route('**/api/plants?*', (route) => {
      if (answers++ === 0) return route.fulfill({ json: { ...part, ...found, next: part.next } });
      return route.fulfill({ status: 503, json: { error: 50_351, message: 'Not now.' } });
    });
    await page.reload();
    await page.getByRole('alert').getByText('Not now.').waitFor();
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    assert.equal(await next.count(), 0);

    await page.unroute('**/api/plants?*');
    await page.route('**/api/plants?*', () => undefined);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('button', { name: 'Go on' }).waitFor();
    assert.equal(await next.count(), 0);
  });

  test('times that are wrong are told at their fields, without a request', async (t) => {
    const page = await openPlants(t);
    await shown(page);
    const asked: string[] = [];
    page.on('request', (request) => {
      if (/\/api\/plants/.test(request.url())) asked.push(request.url());
    });
    const { opsUrl } = started.server;
    for (const [query, field, says] of [
      ['since=garbage', 'Since', 'The address has “garbage” for “Since”, which is not a time'],
      [
        'until=2026-11-24',
        'Until',
        'The address has “2026-11-24” for “Until”, which is not a time',
      ],
      [
        'since=2026-11-24T02:00:00Z&until=2026-11-24T01:00:00Z',
        'Until',
        '“Since” must be before “Until”.',
      ],
    ] as const) {
      await page.goto(`${opsUrl}#/plants?${query}`);
      await page.getByRole('alert').getByText(says).waitFor();
      assert.equal(await page.getByLabel(field).getAttribute('aria-invalid'), 'true');
      assert.equal(await page.locator('.all-matches').count(), 0);
    }
    await assertAccessible(page);
    await assertFits(page);
    await screenshot(page, 'plants-wrong-times-phone');
    assert.deepEqual(asked, []);
    await page.getByRole('button', { name: 'Any time', exact: true }).click();
    await shown(page);
  });

  test('times are those of the place, in the fields and in the table, and UTC in the address', async (t) => {
    const page = await openPlants(t);
    await page.getByLabel('Since').fill('2026-11-22T07:14:49');
    await page.getByLabel('Until').fill('2099-11-22T07:14:49');
    // The browser is in India.
    for (const field of ['Since', 'Until'])
      await page.getByLabel(`${field} UTC+5:30`, { exact: true }).waitFor();
    await page.waitForURL(
      /since=2026-11-22T01%3A44%3A49\.000Z&until=2099-11-22T01%3A44%3A49\.000Z$/,
    );
    await page.reload();
    await shown(page);
    assert.match(await page.getByLabel('Since').inputValue(), /^2026-11-22T07:14:49/);
    const time = rows(page).first().locator('time');
    assert.match(await time.innerText(), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s*$/);
    await page.getByRole('columnheader', { name: 'Created UTC+5:30', exact: true }).waitFor();
    assert.match((await time.getAttribute('title')) ?? '', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
    await page.getByRole('button', { name: 'Last 15 min' }).click();
    await page.getByRole('button', { name: 'Last 15 min', pressed: true }).waitFor();
    await page.getByTitle('From 18:00 to 8:00').click();
    await page.getByRole('button', { name: 'Last night, 18 to 8', pressed: true }).waitFor();
    await page.waitForURL(/since=[^&]*T12%3A30%3A00\.000Z&until=[^&]*T02%3A30%3A00\.000Z$/);
    await page.getByRole('button', { name: 'Any time', exact: true }).click();
    await page.waitForURL(/#\/plants$/);
  });

  test('an id leads to its plant, and what is none is told without a request', async (t) => {
    const page = await openPlants(t);
    await shown(page);
    const id = page.getByRole('textbox', { name: 'Id' });
    for (const none of ['12a', '9223372036854775808', '7.5', '1,00', '1,000.000', '']) {
      await id.fill(none);
      await id.press('Enter');
      await page.getByRole('alert').getByText('is not an integer within int64.').waitFor();
      await assertAccessible(page);
    }
    await page.getByRole('radio', { name: 'By id' }).check({ force: true });
    await page.getByText('is not an integer within int64.').waitFor({ state: 'detached' });
    await id.fill(' 7 ');
    await id.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Plant 7' }).waitFor();
    await page.getByRole('link', { name: 'import' }).click();
    await page.waitForURL(/#\/plants\?createdBy=import$/);
    for (const spelled of ['1,001,803', '1_001_803', '1 001 803', '1.001.803', '1001803']) {
      await page.goto(`${started.server.opsUrl}#/plants`);
      await id.fill(spelled);
      await id.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'Plant 1001803' }).waitFor();
    }
    await page.goto(`${started.server.opsUrl}#/plants/-7`);
    await page.getByText('There is no plant with the id -7.').waitFor();
    await page.getByRole('link', { name: 'Plants from this id on' }).click();
    await page.waitForURL(/#\/plants\?order=id&after=-8$/);
    await shown(page);
    await page.goto(`${started.server.opsUrl}#/plants/7.5`);
    await page.getByText('"7.5" is not an integer within int64').waitFor();
  });

  test('what is filtered can be downloaded, and not only the page that is shown', async (t) => {
    const page = await openPlants(t, '?order=id&createdBy=import');
    for (const [format, first] of [
      ['NDJSON', '{"id":1,'],
      ['CSV', 'id,name,tag,createdAt,createdBy\r\n1,'],
    ] as const) {
      const downloading = page.waitForEvent('download');
      await page.getByRole('link', { name: format }).click();
      const download = await downloading;
      assert.match(
        download.suggestedFilename(),
        new RegExp(`^plants-.*Z\\.${format.toLowerCase()}$`),
      );
      const file = await readFile(await download.path(), 'utf8');
      assert(file.startsWith(first), file.slice(0, 40));
      const lines = file.trimEnd().split('\n').length;
      assert.equal(lines, Math.floor(last / 2) + (format === 'CSV' ? 1 : 0));
    }
  });

  test('a store without plants, and a name that no token has, say what to do', async (context) => {
    const t = inReverse(context);
    const empty = await startWithOperator(t);
    const page = await openPage(t, new URL(empty.server.opsUrl).origin, { expected });
    await openConsole(page, empty, '#/plants');
    await page.getByRole('heading', { name: 'There is no plant yet' }).waitFor();
    await page
      .getByText(`plant-store import FILE --store sqlite:${empty.store}`, { exact: true })
      .waitFor();
    await screenshot(page, 'plants-none');
    await page.goto(`${empty.server.opsUrl}#/plants?createdBy=nobody`);
    await page.getByText('The store lists no token with the name nobody.').waitFor();
    await page.goto(`${empty.server.opsUrl}#/plants?createdBy=Import`);
    await page.getByRole('button', { name: 'Search for import' }).click();
    await page.waitForURL(/#\/plants\?createdBy=import$/);
    const otherZone = '2026-11-24T03:00:00%2B02:00';
    await page.goto(`${empty.server.opsUrl}#/plants?since=${otherZone}&until=2026-11-24T02:00:00Z`);
    await page.getByRole('heading', { name: 'No plant matches' }).waitFor();
    await page.goto(`${empty.server.opsUrl}#/plants?createdBy=nobody`);
    await page.getByRole('button', { name: 'Show all plants' }).click();
    await page.getByRole('link', { name: 'Create a token' }).click();
    await page.waitForURL(/#\/tokens$/);
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`is accessible in ${colorScheme} colours, and no wider than any window`, async (t) => {
      const page = await openPlants(t, '', { colorScheme });
      await shown(page);
      await assertAccessible(page);
      await screenshot(page, `plants-${colorScheme}`);
      await assertFits(page);
      await screenshot(page, `plants-${colorScheme}-phone`);
      await page.getByRole('button', { name: 'More filters' }).click();
      await assertFits(page);
      await page.getByRole('button', { name: 'Fewer filters' }).click();
      await page.goto(`${started.server.opsUrl}#/plants?name=nothing&tag=such`);
      await page.getByRole('heading', { name: 'No plant matches' }).waitFor();
      await assertAccessible(page);
      await assertFits(page);
      await page.setViewportSize({ width: 800, height: 700 });
      await screenshot(page, `plants-${colorScheme}-nothing`);
    });
  }
});
