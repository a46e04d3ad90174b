import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { pause } from '../helpers/pause.ts';
import { create, inReverse, type Owner, oneThread, startServer } from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';
import { alterStore } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';
import {
  makeStoreWithOperator,
  type ServerWithOperator,
  startWithOperator,
} from '../helpers/with-operator.ts';
import {
  assertAccessible,
  assertFits,
  openPage,
  type PageOptions,
  screenshot,
  withoutChromium,
} from './chromium.ts';
import { commonPlants, moveTo, openConsole, signIn, startLoad } from './console.ts';

/** What the browser logs of refusals that the tests provoke. */
const refusals = /the server responded with a status of (40[01349]|429)/;
const away = /ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/;

const pages = ['overview', 'plants', 'refusals', 'tokens', 'backups', 'configuration'] as const;
/** Only a build has the page in few files. */
const isBuilt = Boolean(process.env['BUILT_PROGRAM'] ?? process.env['TEST_PROGRAM']);

const hashOf = (page: (typeof pages)[number]) => (page === 'overview' ? '#/' : `#/${page}`);

const heading = (page: Page, name: string) =>
  page.getByRole('heading', { level: 1, name, exact: true });
const focused = (page: Page) => page.locator(':focus');
const rowOf = (page: Page, name: string) => page.getByRole('row', { name });
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

describe('the console', { skip: withoutChromium(), concurrency: 2 }, () => {
  const file = inReverse({ after });
  let started: ServerWithOperator;
  let kiosk: string;

  before(async () => {
    const { store, token } = await makeStoreWithOperator(file);
    const folder = join(dirname(store), 'backups');
    mkdirSync(folder);
    const flags = [...oneThread, '--backup-to', folder];
    started = { store, token, server: await startServer(file, store, flags) };
    kiosk = await storedToken(store, 'kiosk', { rate: { perDay: 86_400, burst: 1 } });
    await storedToken(store, 'greenhouse', { validMs: 3 * 86_400_000 });
    const { plantsUrl } = started.server;
    await Promise.all(commonPlants.map((plant) => create(plantsUrl, plant)));
    const bearer = { Authorization: `Bearer ${kiosk}` };
    for (let id = 1; id < 40; id += 1) {
      await create(plantsUrl, { id: id % 3 ? `${id}` : id, name: 'Oak' }, bearer);
      await create(plantsUrl, id % 5 ? '{' : { id: 1, name: 'Oak' });
    }
    startLoad(file, started.server);
  });

  function open(t: Owner, options: PageOptions = {}, { server } = started): Promise<Page> {
    return openPage(t, new URL(server.opsUrl).origin, { expected: refusals, ...options });
  }

  async function openSignedIn(t: Owner, hash = '', options: PageOptions = {}): Promise<Page> {
    const page = await open(t, options);
    await openConsole(page, started, hash);
    return page;
  }

  test('says what is wrong with a token, lets an operator in, and out again for good', async (t) => {
    const page = await open(t);
    await page.goto(started.server.opsUrl);
    await page.getByLabel('Operator token').and(focused(page)).waitFor();
    await page.keyboard.type('ps_wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('This token is unknown').waitFor();
    await page.locator('code', { hasText: 'plant-store open --store STORE' }).waitFor();
    assert.doesNotMatch(started.server.stderr(), /\(node:/);
    await assertAccessible(page);
    await signIn(page, started);
    await heading(page, 'Overview').and(focused(page)).waitFor();
    const [cookie] = await page.context().cookies();
    assert.deepEqual([cookie?.httpOnly, cookie?.sameSite], [true, 'Strict']);
    await press(page, 'Sign out');
    await page.getByLabel('Operator token').waitFor();
    await page.reload();
    await page.getByLabel('Operator token').waitFor();
  });

  test('signs in by a link once, and keeps its secret out of the address', async (t) => {
    const { server, store } = started;
    const link = async () => {
      const { port } = new URL(server.opsUrl);
      const args = ['open', '--json', '--ops-port', port, '--store', `sqlite:${store}`];
      return JSON.parse((await runHere(args)).stdout).url;
    };
    const page = await open(t);
    const used = await link();
    await page.goto(used);
    await heading(page, 'Overview').waitFor();
    const { origin } = new URL(used);
    assert.equal(page.url(), `${origin}/#/`);
    assert.doesNotMatch(
      await page.evaluate('JSON.stringify(navigation.entries().map(({ url }) => url))'),
      /link=/,
    );
    const refused = page.getByRole('alert').getByText(/^This link was used already, or is older/);
    // The address is typed into the same page: there is no reload.
    await page.goto(used);
    await refused.getByText('You are still signed in as command line.').waitFor();
    await page.context().clearCookies();
    await page.goto('about:blank');
    await page.goto(used);
    await refused.waitFor();
    await page.getByLabel('Operator token').waitFor();
  });

  test('asks for a token when the session is gone, and goes on where it was', async (t) => {
    const token = await storedToken(started.store, 'bob', { role: 'operate' });
    const page = await open(t);
    await signIn(page, { ...started, token }, '#/plants?name=common+ALDER');
    await runHere(['token', 'revoke', 'bob', '--store', `sqlite:${started.store}`]);
    await page.getByRole('alert').getByText('Your session has ended.').waitFor();
    await page.getByLabel('Operator token').fill(started.token);
    await page.keyboard.press('Enter');
    await rowOf(page, 'Common alder').waitFor();
  });

  test('opens with at most 12 requests and 60 kB, again from the cache, and then shows what happens', async (t) => {
    const page = await open(t);
    await page.request.post(`${started.server.opsUrl}api/session`, {
      data: { token: started.token },
    });
    const load = async () => {
      await page.goto(started.server.opsUrl);
      await page.getByRole('img', { name: /^Creates, per second: new [1-9]/ }).waitFor();
      // What comes from the cache has no size of a transfer.
      return page.evaluate<{ name: string; encodedBodySize: number }[]>(`performance.getEntries()
        .filter(({ transferSize }) => transferSize > 0).map((entry) => entry.toJSON())`);
    };
    const first = await load();
    const bytes = first.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0);
    t.diagnostic(`${first.length} requests, ${bytes} bytes`);
    await page.goto('about:blank');
    const again = (await load()).filter(({ name }) => name.includes('/console/'));
    if (isBuilt) {
      assert(first.length <= 12 && bytes <= 60_000, JSON.stringify(first));
      assert.deepEqual(again, []);
    }

    const attention = page.getByRole('list', { name: 'Needs attention' });
    await attention.getByText('Tokens that expire soon: greenhouse in 3 days').waitFor();
    const plants = page.locator('.tile', { hasText: 'in the store' }).locator('.figure');
    const before = await plants.textContent();
    while ((await plants.textContent()) === before) await pause();
    await page.getByRole('link', { name: 'in the last minute', exact: true }).click();
    await heading(page, 'Refusals').waitFor();
  });

  test('outlives a restart of the service without a reload', async (context) => {
    const t = inReverse(context);
    const restarted = await startWithOperator(t);
    const { server, store } = restarted;
    const expected = new RegExp(`${refusals.source}|${away.source}`);
    const page = await open(t, { expected }, restarted);
    await openConsole(page, restarted);
    await page.evaluate('window.isSamePage = true');
    await page.getByText('ready', { exact: true }).first().waitFor();
    await server.stop('SIGKILL');
    await page.getByRole('alert').getByText('The service does not answer.').waitFor();
    await page.getByText('no answer', { exact: true }).waitFor();
    await page.getByText(/ This page is as of 2.* The console tries again\./).waitFor();
    await press(page, 'Sign out');
    await page.getByRole('alert').getByText('You are still signed in as alice.').waitFor();
    const flags = [...oneThread, '--ops-port', new URL(server.opsUrl).port];
    await startServer(t, store, flags);
    await page.getByText('This page is as of').waitFor({ state: 'detached' });
    assert.equal(await page.evaluate('window.isSamePage'), true);
  });

  test('shows what one failed request does not concern, and says what has failed', async (t) => {
    const page = await open(t, { expected: /status of 500/ });
    const message = 'The service has a defect.';
    await page.route('**/api/tokens', (route) => route.fulfill({ status: 500, json: { message } }));
    await openConsole(page, started, '#/tokens');
    await page.getByRole('alert').getByText(message).waitFor();
    assert.equal(await page.getByText('Loading…').isVisible(), false);
    await page.getByRole('status').getByText('ready', { exact: true }).waitFor();
  });

  test('draws no times that fall after the clock of the service was set back', async (t) => {
    const page = await open(t);
    const samples = (atMs: number) => ({
      atMs: [0, 1, 2].map((index) => atMs + index * 60_000),
      createdPerSecond: [atMs, atMs, atMs],
    });
    const lists = [samples(86_400_000), samples(3_600_000)];
    await page.route('**/api/samples*', (route) =>
      route.fulfill({ json: { samples: lists.shift() ?? { atMs: [] }, kept: 900 } }),
    );
    await openConsole(page, started);
    const chart = page.getByRole('img', { name: 'Creates, per second: new 3,600,000' });
    await chart.hover({ position: { x: 50, y: 50 } });
    await page.locator('figcaption').first().getByText('06:30:00').waitFor();
  });

  test('finds plants by a part of the name, by tag, creator and time, page by page', async (t) => {
    const page = await openSignedIn(t, '#/plants');
    await rowOf(page, 'Seedling').first().waitFor();
    const rows = page.locator('tbody tr');
    assert.equal(await rows.count(), 50);
    await press(page, 'More');
    await rows.nth(99).waitFor();

    await page.getByLabel('Name contains').fill('ALDER');
    await page.getByLabel('Order').selectOption('by id');
    await press(page, 'Search');
    await page.getByText('Seedling').first().waitFor({ state: 'detached' });
    await rows.first().waitFor();
    assert(page.url().endsWith('#/plants?name=ALDER&order=id'), page.url());

    // The same search again shows what was created meanwhile.
    await create(started.server.plantsUrl, { id: 2_000_001, name: 'Blue alder' });
    await press(page, 'Search');
    await rowOf(page, 'Blue alder').waitFor();

    await page.getByLabel('Created by').fill('nobody');
    await press(page, 'Search');
    await page.getByText('No plant matches.').waitFor();
    await page.getByLabel('Created by').fill('');
    await page.getByLabel('Since').fill('2999-01-01T00:00');
    await press(page, 'Search');
    await page.getByText('No plant matches.').waitFor();
    // The page is in India: half an hour from UTC.
    assert(page.url().includes('since=2998-12-31T18%3A30%3A00.000Z'), page.url());
  });

  test('shows a plant exactly, whatever is in it, and its time in the zone of the reader', async (t) => {
    const name = '<img src=x onerror="window.isHurt = true">\u202egnp.exe';
    await create(started.server.plantsUrl, { id: 2_000_000, name, tag: '' });
    alterStore(started.store, 'UPDATE plants SET created_at = 1000 WHERE id = 2000000');
    const page = await openSignedIn(t, '#/plants');
    await page.getByLabel('Id', { exact: true }).fill('2000000');
    await press(page, 'Search');
    // The list before had the plant, too.
    await page.getByText('Seedling').first().waitFor({ state: 'detached' });
    await page.getByText('(empty)').waitFor();
    const exact = await page.locator('td .exact').first().innerText();
    assert.equal(exact, '<img src=x onerror="window.isHurt = true">U+202Egnp.exe');
    assert.equal(await page.evaluate('window.isHurt'), undefined);
    const time = page.locator('td time');
    const shown = [await time.textContent(), await time.getAttribute('title')];
    assert.deepEqual(shown, ['1970-01-01 05:30:01', '1970-01-01 00:00:01 UTC']);
    await page.goto(`${started.server.opsUrl}#/plants?id=x`);
    await page.getByRole('alert').getByText('`id` must be an integer from').waitFor();
    assert.equal(await page.getByRole('button', { name: /More|Try again/ }).count(), 0);
  });

  test('shows refusals as they come, of one code and of one client', async (t) => {
    const page = await openSignedIn(t, '#/refusals');
    await page.getByLabel('Code').selectOption({ value: '42900' });
    await page.getByText('40001', { exact: true }).first().waitFor({ state: 'detached' });
    await page.getByLabel('Client').selectOption({ value: 'kiosk' });
    assert(page.url().endsWith('#/refusals?code=42900&client=kiosk'), page.url());
    const refuse = async () => {
      const bearer = { Authorization: `Bearer ${kiosk}` };
      let reply = await create(started.server.plantsUrl, { id: 1, name: 'Oak' }, bearer);
      while (reply.status !== 429)
        reply = await create(started.server.plantsUrl, { id: 1, name: 'Oak' }, bearer);
      return `${reply.headers.get('X-Request-Id')}`;
    };
    const requestId = await refuse();
    await rowOf(page, requestId).getByRole('button').click();
    const refusal = page.getByRole('textbox', { name: 'Refusal' });
    assert.match(
      await refusal.inputValue(),
      RegExp(`Request: ${requestId}\nMessage: The token may`),
    );
    await press(page, 'Copy');
    // A page has no clipboard while another page of the browser is in front.
    await page.getByText(/^Copied\.|^The text is selected/).waitFor();
    await assertAccessible(page);
  });

  test('makes a token that works, shows it once, rotates and revokes it', async (t) => {
    const page = await openSignedIn(t, '#/tokens');
    await press(page, 'Create a token');
    await page.getByLabel('Name').fill('kiosk');
    await press(page, 'Create');
    await page.getByRole('alert').getByText('kiosk').waitFor();
    await page.getByLabel('Name').fill('nursery');
    await page.getByLabel('Days until it expires').fill('30');
    await page.getByLabel('Rate, ').fill('100/s:500');
    await press(page, 'Create');
    const secretShown = async () => {
      const secret = await page.getByLabel('Secret', { exact: true }).inputValue();
      await assertAccessible(page);
      await page.keyboard.press('Escape');
      await press(page, 'I have kept it');
      assert(!(await page.content()).includes(secret));
      return { Authorization: `Bearer ${secret}` };
    };
    const bearer = await secretShown();
    const row = rowOf(page, 'nursery');
    await row.getByText('in 30 days').waitFor();
    await row.getByText('100/s:500').waitFor();
    await press(page, 'Limit nursery');
    assert.equal(await page.getByLabel('Rate, ').inputValue(), '100/s:500');
    await page.getByLabel('Rate, ').fill('60/m');
    await press(page, 'Limit');
    await row.getByText('60/m').waitFor();
    const send = async () =>
      (await create(started.server.plantsUrl, { id: 77_777, name: 'Yew' }, bearer)).status;
    const until = async (status: number) => {
      while ((await send()) !== status) await pause();
    };
    await until(200);

    await press(page, 'Rotate nursery');
    await press(page, 'Rotate');
    await page.getByText(/^The old secret ends at /).waitFor();
    await secretShown();
    await row.getByText('rotated').waitFor();
    await press(page, 'Revoke nursery');
    await assertAccessible(page);
    await press(page, 'Revoke');
    await page.getByRole('status').getByText('nursery is revoked.').waitFor();
    await until(401);
  });

  test('backs up now, and says which flag makes backups if none is set', async (context) => {
    const page = await openSignedIn(context, '#/backups');
    await press(page, 'Back up now');
    await page.getByText('verified').first().waitFor();
    await page.getByText('succeeded').waitFor();
    const t = inReverse(context);
    const without = await startWithOperator(t);
    const other = await open(t, {}, without);
    await openConsole(other, without, '#/backups');
    await other.getByText('--backup-to FOLDER').waitFor();
  });

  test('is worked with the keyboard alone', async (t) => {
    const page = await openSignedIn(t);
    const { keyboard } = page;
    const at = (name: string) => heading(page, name).and(focused(page)).waitFor();
    await at('Overview');
    await moveTo(page, 'Shift+Tab', 'link', 'Tokens');
    await keyboard.press('Enter');
    await at('Tokens');
    await page.waitForFunction("document.title === 'Tokens · Plant Store'");
    await moveTo(page, 'Tab', 'button', 'Create a token');
    await keyboard.press('Enter');
    await page.getByLabel('Name').and(focused(page)).waitFor();
    await keyboard.press('Escape');
    await page.getByRole('button', { name: 'Create a token' }).and(focused(page)).waitFor();
  });

  // The other theme is for the pictures of the documentation alone.
  const themes = process.env['SCREENSHOTS'] ? (['light', 'dark'] as const) : (['light'] as const);
  for (const colorScheme of themes) {
    test(`is accessible and fits the window with a ${colorScheme} theme`, async (t) => {
      const page = await openSignedIn(t, '', { colorScheme });
      for (const name of pages) {
        await page.goto(`${started.server.opsUrl}${hashOf(name)}`);
        await page.locator('table, .tile').first().waitFor();
        await page.setViewportSize({ width: 1280, height: 800 });
        await screenshot(page, `console-${name}-${colorScheme}`);
        if (colorScheme === 'light') await assertFits(page);
        await assertAccessible(page);
      }
    });
  }
});
