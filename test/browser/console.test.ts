import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { pause } from '../helpers/pause.ts';
import { create, oneThread, startServer } from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';
import { addTokens, alterStore, openStoreAt } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';
import { underWay } from '../helpers/under-way.ts';
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
  moveTo,
  openConsole,
  type ServerWithOperator,
  signIn,
  startLoad,
  startWithOperator,
} from './console.ts';

/** What the browser logs of refusals that the tests provoke. */
const refusals = /the server responded with a status of (40[1349]|429)/;
const away = /ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/;

/** A search for this text among names of 木 takes most of a second: long texts match in part. */
const slowToFind = `${'木'.repeat(900)}林`;
const slowToSearch = `WITH RECURSIVE ids(id) AS (VALUES (1) UNION ALL SELECT id + 1 FROM ids WHERE id < 3000)
  INSERT INTO plants SELECT id, replace(hex(zeroblob(5000)), '0', '木'), NULL, 1000, 0 FROM ids`;
/** A number of JavaScript does not hold this id exactly. */
const bigId = '9007199254740993';

const heading = (page: Page, name: string) =>
  page.getByRole('heading', { level: 1, name, exact: true });

describe('the console', { skip: withoutChromium(), concurrency: 3 }, () => {
  const atEnd: (() => unknown)[] = [];
  const owner = { after: (cleanup: () => unknown) => atEnd.unshift(cleanup) };
  let started: ServerWithOperator;

  before(async () => {
    started = await startWithOperator(owner);
    await Promise.all(commonPlants.map((plant) => create(started.server.plantsUrl, plant)));
    await create(
      started.server.plantsUrl,
      `{"id":${bigId},"name":"Holm oak","tag":"Quercus ilex"}`,
    );
    startLoad(owner, started.server);
  });
  after(async () => {
    for (const cleanup of atEnd) await cleanup();
  });

  type Owner = Parameters<typeof openPage>[0];
  const open = (t: Owner, options: PageOptions = {}, { server } = started) =>
    openPage(t, new URL(server.opsUrl).origin, { expected: refusals, ...options });

  /** A page with a session, at the hash. */
  async function openSignedIn(t: Owner, hash = ''): Promise<Page> {
    const page = await open(t);
    await openConsole(page, started, hash);
    return page;
  }

  test('says what is wrong with a token, lets an operator in, and out again for good', async (t) => {
    const page = await open(t);
    await page.goto(started.server.opsUrl);
    await page.getByLabel('Operator token').fill('ps_wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('This token is unknown').waitFor();
    assert.equal(await page.getByText('plant-store token create NAME').count(), 1);
    const wait = page.getByRole('alert').getByText(/Try again in \d+ s\.$/);
    const tryAgain = async () => {
      const answer = underWay(page.waitForResponse('**/api/session'));
      await page.getByRole('button', { name: 'Sign in' }).click();
      await answer;
    };
    for (const refusal of [1, 2, 3, 4, 5]) {
      assert.equal(await wait.count(), 0, `refusal ${refusal}`);
      await tryAgain();
    }
    // A slow machine gets further tries meanwhile.
    while ((await wait.count()) === 0) await tryAgain();

    await signIn(page, started);
    await page.getByText('Signed in as alice').waitFor();
    const [cookie] = await page.context().cookies();
    assert.deepEqual([cookie?.httpOnly, cookie?.sameSite], [true, 'Strict']);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Operator token').waitFor();
    await page.reload();
    await page.getByLabel('Operator token').waitFor();
  });

  test('signs in by a link once, keeps its secret out of the address, and says when it is too late', async (context) => {
    const t = inReverse(context);
    const other = await startWithOperator(t);
    const link = async () => {
      const { port } = new URL(other.server.opsUrl);
      const args = ['open', '--json', '--ops-port', port, '--store', `sqlite:${other.store}`];
      return JSON.parse((await runHere(args)).stdout).url.replace('127.0.0.1', 'localhost');
    };
    const origin = new URL(await link()).origin;
    const page = await openPage(t, origin, { expected: refusals });
    const used = await link();
    await page.goto(used);
    await page.getByText('Signed in as command line').waitFor();
    await heading(page, 'Overview').waitFor();
    assert.equal(page.url(), `${origin}/#/`);
    assert.doesNotMatch(
      await page.evaluate('JSON.stringify(navigation.entries().map(({ url }) => url))'),
      /link=/,
    );

    // The address is typed into the same page: there is no reload.
    const refused = page.getByRole('alert').getByText(/^This link was used already, or is older/);
    await page.goto(used);
    await refused.getByText('You are still signed in as command line.').waitFor();
    await screenshot(page, 'console-link-refused');
    await page.getByRole('link', { name: 'Tokens', exact: true }).click();
    await refused.waitFor({ state: 'detached' });
    const session = (await page.context().cookies())[0]?.value;
    await page.goto(await link());
    await heading(page, 'Overview').waitFor();
    await page.getByText('Signed in as command line').waitFor();
    assert.notEqual((await page.context().cookies())[0]?.value, session);

    await page.context().clearCookies();
    await page.goto('about:blank');
    await page.goto(used);
    await refused.waitFor();
    await page.getByLabel('Operator token').waitFor();
    assert.equal(page.url(), `${origin}/#/`);
  });

  test('shows the load in figures and curves that move', async (t) => {
    const page = await openSignedIn(t);
    const creates = page.locator('figure', { hasText: 'Creates' });
    const drawn = () =>
      page.evaluate<string>("document.querySelector('figure canvas').toDataURL()");
    const stored = () => creates.locator('dd').first().innerText();
    await creates
      .locator('dd')
      .first()
      .filter({ hasText: /^[1-9]/ })
      .waitFor();
    const [text, curve] = [await stored(), await drawn()];
    await creates.locator('dd').first().filter({ hasNotText: text }).waitFor();
    // A curve is drawn after its figure.
    while ((await drawn()) === curve) await pause();
    await page.getByRole('img', { name: /^Latency, ms, in the last 5 minutes: p50 \d/ }).waitFor();
    await page.locator('fieldset').getByText('15 min').click();
    await page
      .getByRole('img', { name: /^Queue, plants that wait, in the last 15 minutes/ })
      .waitFor();
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`shows the last 24 hours with their gaps and starts, in ${colorScheme} colours`, async (context) => {
      const t = inReverse(context);
      const other = await startWithOperator(t);
      // 23 hours, without the minutes from 580 to 699, after which the service was started.
      alterStore(
        other.store,
        `WITH RECURSIVE minutes(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM minutes WHERE n < 1380),
        times AS (SELECT n, (unixepoch() / 60 - n) * 60000 AS at FROM minutes)
        INSERT INTO history (minute_at, node, started_at, created, same, taken,
          failed, refused, refusals, refused_senders, p50_us, p99_us, queue_plants, connections, stopped_at)
        SELECT at, n >= 700, CASE n WHEN 579 THEN at ELSE 0 END, CAST(1000 + 500 * sin(n / 90.0) AS INTEGER), 20, 3,
          n % 500 = 0, 1, iif(n % 500 = 0, '{"40004":3,"42900":1,"50301":1}', '{"40004":3,"42900":1}'), iif(n % 500 = 0, '{"florist 40004":3,"survey-of-the-north 42900":1," 50301":1}', '{"florist 40004":3,"survey-of-the-north 42900":1}'), 900 + n, CASE n WHEN 700 THEN 84000 ELSE 2000 + n END, 5, 12, CASE WHEN n >= 700 THEN 0 END
        FROM times WHERE n NOT BETWEEN 580 AND 699`,
      );
      const page = await open(t, { colorScheme }, other);
      await openConsole(page, other, '#/?span=24h');
      const day = page.locator('section', { hasText: 'Last 24 hours' });
      const figures = {
        Created: /^1,\d{3},\d{3}\s*$/,
        Failed: /^2\s*$/,
        Refused: /^5,\d{3} of which 3,\d{3} id taken$/,
        'Slowest minute': /^\d\d:\d\d p99 84 ms$/,
        Starts: /^2 the last \d\d:\d\d$/,
        'Without a service': /^12\d minutes (the longest )?\d\d:\d\d–\d\d:\d\d$/,
      };
      for (const [title, value] of Object.entries(figures))
        await day
          .locator('div', { hasText: title })
          .locator('dd')
          .filter({ hasText: value })
          .waitFor();
      await screenshot(page, `console-day-${colorScheme}`);
      const rightOf = (selector: string) =>
        page.evaluate(`document.querySelector('${selector}').getBoundingClientRect().right`);
      assert.equal(await rightOf('.charts > :last-child'), await rightOf('.charts'));
      const latency = page.getByRole('img', {
        name: /^Latency, ms, in the last 24 hours: .*p99 ([\d.]+|–), at most 84/,
      });
      await latency.focus();
      await page.keyboard.press('Home');
      const figure = page.locator('figure', { has: latency });
      const at = figure.locator('.at');
      await at.getByText(/^\d\d-\d\d \d\d:\d\d UTC\+5:30$/).waitFor();
      const [first] = await at.allInnerTexts();
      await page.keyboard.press('ArrowRight');
      await figure
        .getByRole('status')
        .getByText(/UTC\+5:30: p50 2\.28, p99 3\.38$/)
        .waitFor();
      assert.notEqual((await at.allInnerTexts())[0], first);
      await latency.blur();
      await at.getByText('start', { exact: true }).waitFor();

      // The pointer is in the gap, and then on the start after it. No plot moves.
      const topOf = async () => (await figure.locator('canvas').boundingBox())?.y;
      const top = await topOf();
      const { x = 0, y = 0, width = 0 } = (await figure.locator('.u-over').boundingBox()) ?? {};
      await page.mouse.move(x + width * (1 - 603 / 1_440), y + 20);
      await at.getByText(/^\d\d-\d\d \d\d:\d\d UTC\+5:30, no service$/).waitFor();
      await latency.press('ArrowRight');
      await at.getByText(/UTC\+5:30, start$/).waitFor();
      assert.equal(await topOf(), top);
      await latency.blur();
      const codes = page.getByRole('table', { name: 'Refusals by code' });
      await codes
        .getByRole('row', { name: /^40004 id taken 0 (180|17[147]) 3,780 0$/ })
        .getByRole('link', { name: '3,780' })
        .waitFor();
      await codes.scrollIntoViewIfNeeded();
      await screenshot(page, `console-codes-${colorScheme}`);
      await assertAccessible(page);
      await assertFits(page);
      for (const [title, words, address] of [
        ['1 h', 'hour', /#\/\?span=1h$/],
        ['6 h', '6 hours', /#\/\?span=6h$/],
        ['15 min', '15 minutes', /#\/\?span=15m$/],
      ] as const) {
        await page.locator('fieldset').getByText(title, { exact: true }).click();
        await page
          .getByRole('img', { name: `in the last ${words}:` })
          .first()
          .waitFor();
        assert.match(page.url(), address);
      }
      await codes.getByRole('link', { name: '42900' }).click();
      await page
        .getByText(/^In the last 24 hours, 1,2\d\d requests were refused with 42900\. This service/)
        .waitFor();
      await page.getByRole('link', { name: 'When, and of which client' }).click();
      await page.getByText(/^1,2\d\d requests, between \d\d-\d\d /).waitFor();

      await page.getByLabel('Outcome').selectOption('');
      const hours = page.getByRole('table', { name: 'The last 24 hours, by hour' });
      const rows = hours.locator('tbody tr');
      assert((await rows.count()) >= 23);
      for (const pair of [/^florist 40004:\s180$/, /^survey-of-the-north 42900:\s60$/])
        await rows.getByRole('listitem').filter({ hasText: pair }).first().waitFor();
      const away = rows.filter({ hasText: /down$/ }).first();
      assert.match(await away.innerText(), /^\d\d-\d\d \d\d:00\s+down$/);
      const stops = page.getByRole('table', { name: 'Starts, and times without a service' });
      const crash = stops.getByRole('row').filter({ hasText: 'a crash, a kill or a power cut' });
      await crash.getByText(/^2\sh$/).waitFor();
      await page.setViewportSize({ width: 1200, height: 800 });
      await page.evaluate('scrollTo(0, 0)');
      await screenshot(page, `console-history-${colorScheme}`);
      await assertAccessible(page);
      await assertFits(page);

      await page.getByRole('link', { name: 'Overview' }).click();
      await day.getByRole('link', { name: '2', exact: true }).first().click();
      await page.getByText(/^2 requests, between /).waitFor();
      await hours
        .getByRole('link', { name: /^\d\d-\d\d/ })
        .first()
        .click();
      const minute = page.getByRole('table', { name: /^The minutes from \d\d:00$/ });
      await minute.getByRole('link', { name: 'no known token 50301' }).click();
      await page.getByText(/^1 request, between /).waitFor();
      await page.getByRole('link', { name: 'All hours' }).click();
      await page.getByText(/^2 requests, between /).waitFor();
    });
  }

  test('tells creates that are stored from retries, conflicts and refusals', async (context) => {
    const t = inReverse(context);
    const other = await startWithOperator(t);
    const page = await open(t, {}, other);
    await openConsole(page, other);
    const { plantsUrl } = other.server;
    const sent: readonly unknown[] = [
      ...Array.from({ length: 2 }, (_, id) => ({ id, name: 'Alder' })),
      ...Array(3).fill({ id: 0, name: 'Alder' }),
      ...Array(4).fill({ id: 0, name: 'Birch' }),
      ...Array(5).fill({ id: 'none' }),
    ];
    for (const plant of sent) await create(plantsUrl, plant as object);
    const mostOf = async (title: string, label: string) => {
      const text =
        (await page
          .getByRole('img', { name: new RegExp(`^${title}, per second`) })
          .getAttribute('aria-label')) ?? '';
      return new RegExp(`${label} [\\d.]+, at most ([\\d.]+)`).exec(text)?.[1];
    };
    for (
      const signal = AbortSignal.timeout(60_000);
      !(Number(await mostOf('Not stored', 'other refusals')) > 0);
    )
      await pause(signal);
    const most = async (title: string, label: string) => Number(await mostOf(title, label));
    assert((await most('Creates', 'stored')) < 4);
    assert((await most('Creates', 'same')) > 0);
    assert((await most('Not stored', 'id taken')) > 0);
    assert.equal(await most('Not stored', 'failed'), 0);
    const outcomes = page.getByRole('table', { name: 'Creates by outcome' });
    await outcomes.getByRole('row', { name: /^same a retry 3 [03] [03] 3$/ }).waitFor();
    await page.getByRole('row', { name: /^40004 id taken 4 [04] [04] 4$/ }).waitFor();
    await page.getByRole('link', { name: '40001' }).click();
    assert.match(page.url(), /#\/refusals\?code=40001$/);
  });

  test('finds plants by tag and a part of the name, and shows who created one and when', async (t) => {
    const page = await openSignedIn(t, '#/plants?order=id');
    const rows = page.getByRole('table').locator('tbody tr');
    await page.getByText('50 plants shown, more on the next page.').waitFor();
    await page.getByLabel('Name contains').fill('lder');
    await page.getByLabel('Tag', { exact: true }).fill('Alnus glutinosa');
    await page.getByText('1 plant, and no more.').waitFor();
    assert.match(await rows.first().innerText(), /3\s+Common alder\s+Alnus glutinosa/);
    await page.getByLabel('Tag', { exact: true }).fill('Quercus ilex');
    await page.getByLabel('Name contains').fill('Holm');
    await page.getByRole('link', { name: bigId }).click();
    await heading(page, `Plant ${bigId}`).waitFor();
    const created = page.getByText(
      /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\+5:30 (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d UTC, \d+\s(s|min) ago$/,
    );
    const isoTime = String(await created.getAttribute('datetime'));
    const utc = `${isoTime.slice(0, 19).replace('T', ' ')} UTC`;
    assert.equal(await created.getAttribute('title'), utc);
    assert((await created.innerText()).includes(utc.slice('yyyy-mm-dd '.length)));
    await page.getByText('environment').waitFor();

    await page.goBack();
    assert.equal(await page.getByLabel('Name contains').inputValue(), 'Holm');
    await page.getByRole('link', { name: 'Plants' }).click();
    await page.getByText('50 plants shown, more on the next page.').waitFor();
    assert.equal(await page.getByLabel('Name contains').inputValue(), '');
  });

  test('goes on with a search until there is something, and stops when it is told', async (context) => {
    const t = inReverse(context);
    const other = await startWithOperator(t);
    alterStore(other.store, slowToSearch);
    await create(other.server.plantsUrl, `{"id":${bigId},"name":"${slowToFind}"}`);
    const page = await open(t, {}, other);
    await openConsole(page, other, '#/plants?order=id');
    await page.getByLabel('Name contains').fill(slowToFind);
    await page.getByText(/^Searched up to id \d{3,4}…$/).waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText(/^No plants up to id \d{3,4}\.$/).waitFor();
    await page.getByRole('button', { name: 'Ignore case' }).waitFor();
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByText('1 plant, and no more.').waitFor();
    await page.getByRole('link', { name: bigId }).waitFor();
  });

  test('shows names exactly, whatever is in them', async (t) => {
    const page = await openSignedIn(t);
    const name = '<b>Oak</b>\n  \u202egnp.exe';
    await create(started.server.plantsUrl, { id: 2_000_000, name, tag: '' });
    await page.goto(`${started.server.opsUrl}#/plants/2000000`);
    await page.getByText('(empty)').waitFor();
    assert.equal(
      await page.locator('dd .exact').first().innerText(),
      '<b>Oak</b>\n  U+202Egnp.exe',
    );
  });

  test('outlives a restart of the service without a reload', async (context) => {
    const t = inReverse(context);
    const restarted = await startWithOperator(t);
    const { server, store } = restarted;
    const expected = new RegExp(`${refusals.source}|${away.source}`);
    const page = await open(t, { expected }, restarted);
    await openConsole(page, restarted);
    await page.evaluate('window.isSamePage = true');
    await page.getByRole('heading', { name: 'Readiness' }).waitFor();
    await server.stop('SIGKILL');
    await page.getByRole('alert').getByText('The service does not answer. Trying again.').waitFor();
    const stale = page.locator('figure.stale, section.stale');
    await stale.nth(9).waitFor();
    const colourOf = (selector: string) =>
      page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).color`);
    assert.equal(await colourOf('figure dd'), await colourOf('.quiet'));
    await page.getByText('No answer', { exact: true }).waitFor();
    await assertAccessible(page);
    await screenshot(page, 'console-stale');
    const again = await startServer(t, store, [
      ...oneThread,
      '--ops-port',
      new URL(server.opsUrl).port,
    ]);
    startLoad(t, again);
    await page.getByText('The service does not answer').waitFor({ state: 'detached' });
    await page
      .locator('figure dd')
      .first()
      .filter({ hasText: /^[1-9]/ })
      .waitFor();
    assert.equal(await page.evaluate('window.isSamePage'), true);
    await stale.first().waitFor({ state: 'detached' });
    assert.doesNotMatch(again.stderr(), /"level":"(error|fatal)"/);
  });

  test('says how to make a backup, and then of which time the last one is', async (context) => {
    const t = inReverse(context);
    const other = await startWithOperator(t);
    const { server, store } = other;
    const page = await open(t, {}, other);
    await openConsole(page, other);
    await page.getByText(`plant-store backup /var/backups --store sqlite:${store}`).waitFor();
    await page
      .locator('.facts > div')
      .getByText(/^\d, counted \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\+5:30 \d+\s(s|min) ago$/)
      .waitFor();
    await create(server.plantsUrl, { id: 1, name: 'Alder' });
    await page
      .locator('.facts > div')
      .getByText(/^\d, counted .* ago, with 1 created since$/)
      .waitFor();
    const { code, stderr } = await runHere([
      'backup',
      `${store}.backup`,
      '--store',
      `sqlite:${store}`,
    ]);
    assert.equal(code, 0, stderr);
    const backup = page.locator('section', { hasText: 'Last verified' });
    await backup.getByText(/^Plants in it\s*1$/).waitFor();
    await backup.getByText(`${store}.backup`).waitFor();
    await rm(`${store}.backup`);
    await backup.getByText('no longer there').waitFor();
    await page.getByText('The file of the last verified backup is no longer there.').waitFor();

    await using writer = await openStoreAt(store);
    await writer.recordJob({ name: 'drill', atMs: Date.now(), tookMs: 2_500 });
    await backup.getByText(/^Restore drill.*, took 2\.5\ss$/s).waitFor();
    await writer.recordJob({
      name: 'scrub',
      atMs: Date.now(),
      tookMs: 1,
      fault: 'a plant differs',
    });
    await backup.getByText(/^Scrub\s*failed.*a plant differs; it has never succeeded$/s).waitFor();
    const finishedAtMs = Date.now() + 400 * 24 * 3_600_000;
    await writer.recordBackup({ file: store, finishedAtMs, plants: 1, digest: 'ab' });
    await page.getByText('backup is in the future (in').waitFor();
    await assertAccessible(page);
  });

  test('lists the last of many tokens that are valid no more, and says how many there are besides', async (context) => {
    const t = inReverse(context);
    const other = await startWithOperator(t);
    addTokens(other.store, 1_003, 'past');
    const page = await open(t, {}, other);
    await openConsole(page, other, '#/tokens');
    await page
      .getByText('Older expired and revoked tokens: 3. plant-store token list shows all.')
      .waitFor();
  });

  test('asks for a token when the session is gone, and goes on where it was', async (t) => {
    const secret = await storedToken(started.store, 'bob', { role: 'operate' });
    const page = await open(t);
    await signIn(page, { ...started, secret }, '#/plants?name=Common+alder');
    await runHere(['token', 'revoke', 'bob', '--store', `sqlite:${started.store}`]);
    await page.getByRole('alert').getByText('Your session has ended.').waitFor();
    await page.getByLabel('Operator token').fill(started.secret);
    await page.keyboard.press('Enter');
    await page.getByText('Signed in as alice').waitFor();
    assert.equal(await page.getByLabel('Name contains').inputValue(), 'Common alder');
    await page.getByText('1 plant, and no more.').waitFor();
  });

  test('says that there is no page at an address, and leads to the overview', async (t) => {
    const page = await openSignedIn(t, '#/plant');
    await page.getByRole('heading', { level: 1, name: 'Not found' }).waitFor();
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    await page.getByText('The console has nothing at #/plant.').waitFor();
    await assertAccessible(page);
    await page.getByRole('link', { name: 'overview', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.evaluate("location.hash = '#/refusals/'");
    await page.getByRole('heading', { level: 1, name: 'Refusals' }).waitFor();
  });

  test('is worked with the keyboard alone', async (t) => {
    const page = await open(t);
    const { keyboard } = page;
    await page.goto(started.server.opsUrl);
    await page.getByLabel('Operator token').and(page.locator(':focus')).waitFor();
    await keyboard.type(started.secret);
    await keyboard.press('Enter');
    await heading(page, 'Overview').and(page.locator(':focus')).waitFor();
    await moveTo(page, 'Shift+Tab', 'link', 'Plants');
    await keyboard.press('Enter');
    await heading(page, 'Plants').and(page.locator(':focus')).waitFor();
    assert.equal(await page.title(), 'Plants · Plant Store');
    await moveTo(page, 'Tab', 'textbox', 'Name contains');
    await keyboard.type('Common alder');
    await page.getByText('1 plant, and no more.').waitFor();
    await moveTo(page, 'Tab', 'link', '3');
    await keyboard.press('Enter');
    await heading(page, 'Plant 3').and(page.locator(':focus')).waitFor();
    await moveTo(page, 'Shift+Tab', 'link', 'Tokens');
    await keyboard.press('Enter');
    await heading(page, 'Tokens').and(page.locator(':focus')).waitFor();
    await moveTo(page, 'Tab', 'button', 'Create a token');
    await keyboard.press('Enter');
    await page.getByLabel('Name').and(page.locator(':focus')).waitFor();
    await keyboard.type('nursery');
    await keyboard.press('Enter');
    await page.getByLabel('Secret').and(page.locator(':focus')).waitFor();
    await moveTo(page, 'Tab', 'button', 'I have kept it');
    await keyboard.press('Enter');
    await page
      .getByRole('button', { name: 'Create a token' })
      .and(page.locator(':focus'))
      .waitFor();
    await page.getByRole('row', { name: 'nursery' }).waitFor();
  });

  test('keeps the place of what has not arrived yet', async (t) => {
    const page = await openSignedIn(t);
    const held = Promise.withResolvers<void>();
    await page.route('**/api/tokens', async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.goto(`${started.server.opsUrl}#/tokens`);
    await page.getByRole('status').getByText('Loading…').waitFor();
    await screenshot(page, 'console-loading');
    held.resolve();
    await page.getByRole('row', { name: 'alice' }).waitFor();
    assert.equal(await page.getByText('Loading…').count(), 0);
  });

  test('takes shortcuts, lists them, and turns them off', async (t) => {
    const page = await openSignedIn(t);
    const { keyboard } = page;
    await keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await page.getByRole('button', { name: 'Close' }).and(page.locator(':focus')).waitFor();
    await page.getByText('Search plants').waitFor();
    await assertAccessible(page);
    await screenshot(page, 'console-shortcuts');
    // No page changes under a dialog.
    await keyboard.press('g');
    await keyboard.press('t');
    await keyboard.press('Escape');
    await heading(page, 'Overview').waitFor();
    await page.getByText('15 min', { exact: true }).click();
    await keyboard.press('g');
    await keyboard.press('t');
    await heading(page, 'Tokens').and(page.locator(':focus')).waitFor();
    await keyboard.press('/');
    const search = page.getByRole('search').getByRole('textbox').first();
    await search.and(page.locator(':focus')).waitFor();
    // A character that is typed is no shortcut.
    await keyboard.type('?gt');
    assert.equal(await search.inputValue(), '?gt');

    await page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
    await page.getByLabel('Use keyboard shortcuts').uncheck();
    await keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await keyboard.press('?');
    await page.reload();
    await heading(page, 'Plants').waitFor();
    await keyboard.press('?');
    await page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
    assert(!(await page.getByLabel('Use keyboard shortcuts').isChecked()));
    assert.equal(await page.getByRole('dialog').count(), 1);
  });

  const views: readonly (readonly [name: string, hash: string, shown: string])[] = [
    ['overview', '#/', 'Readiness'],
    ['history', '#/history', 'By hour'],
    ['plants', '#/plants?name=oak', 'Swamp white oak'],
    ['plant', '#/plants/3', 'Common alder'],
    ['tokens', '#/tokens', 'alice'],
    ['configuration', '#/configuration', '--ops-port'],
  ];
  async function show(page: Page, [, hash, shown]: (typeof views)[number]): Promise<void> {
    await page.goto(`${started.server.opsUrl}${hash}`);
    await page.getByRole('main').getByText(shown).first().waitFor();
  }

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`is accessible in ${colorScheme} colours`, async (t) => {
      const page = await open(t, { colorScheme });
      await page.goto(started.server.opsUrl);
      await page.getByLabel('Operator token').waitFor();
      await assertAccessible(page);
      await screenshot(page, `console-sign-in-${colorScheme}`);
      await signIn(page, started);
      for (const view of views) {
        await show(page, view);
        await assertAccessible(page);
        await screenshot(page, `console-${view[0]}-${colorScheme}`);
      }
    });
  }

  test('is accessible on a phone, and no wider than any window', async (t) => {
    const page = await openSignedIn(t);
    for (const view of views) {
      await show(page, view);
      await assertFits(page);
      await assertAccessible(page);
      await screenshot(page, `console-${view[0]}-phone`);
      // The navigation has one line, and shows the current page.
      const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
      const boxOf = async (link: Locator) => (await link.boundingBox()) ?? assert.fail();
      const tops = (await Promise.all((await links.all()).map(boxOf))).map(({ y }) => y);
      assert.equal(new Set(tops).size, 1);
      const { x, width, height } = await boxOf(page.locator('nav [aria-current]'));
      assert(x >= 0 && x + width <= 320 && height >= 24, `${view[0]}: ${x}, ${width}`);
    }
  });

  test('has accessible dialogs', async (t) => {
    const page = await openSignedIn(t, '#/tokens');
    const pictured = async (name: string) => {
      await assertAccessible(page);
      await screenshot(page, `console-${name}`);
    };
    await page.getByRole('button', { name: 'Revoke alice' }).click();
    await page.getByText('You have signed in with it').waitFor();
    await pictured('revoke');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Create a token' }).click();
    await page.getByLabel('Name').fill('alice');
    await pictured('new-token');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('alert').getByText('alice').waitFor();
    await page.getByLabel('Name').fill('orchard');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('it will not be shown again').waitFor();
    await pictured('secret');
  });

  test('makes a token that works, shows it once, and revokes it', async (t) => {
    const page = await openSignedIn(t, '#/tokens');
    await page.getByRole('button', { name: 'Create a token' }).click();
    await page.getByLabel('Name').fill('greenhouse');
    await page.getByLabel('Expires').fill('30');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const secret = await page.getByLabel('Secret').inputValue();
    await page.getByRole('button', { name: 'I have kept it' }).click();
    const row = page.getByRole('row', { name: 'greenhouse' });
    await row.getByText('in 30 days').waitFor();
    assert(!(await page.content()).includes(secret));
    const createWithIt = () =>
      create(
        started.server.plantsUrl,
        { id: 1, name: 'Alder', tag: 'Alnus' },
        { Authorization: `Bearer ${secret}` },
      );
    for (; (await createWithIt()).status !== 200; await pause())
      assert(started.server.child.exitCode === null);

    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('status').getByText('The token greenhouse is revoked.').waitFor();
    await row.getByText('revoked').waitFor();
    for (; (await createWithIt()).status !== 401; await pause())
      assert(started.server.child.exitCode === null);
  });
});
