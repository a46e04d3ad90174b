import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { create, oneThread, startServer, storePath } from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';
import { alterStore } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';
import {
  assertAccessible,
  assertFits,
  inReverse,
  openPage,
  screenshot,
  withoutChromium,
} from './chromium.ts';
import { openConsole, type ServerWithOperator, startWithOperator } from './console.ts';

const dayMs = 86_400_000;
/** What the browser logs before the sign-in, and of a rotation that is refused. */
const refusals = /the server responded with a status of 40[0149]/;

describe('the tokens in the console', { skip: withoutChromium(), concurrency: 2 }, () => {
  const atEnd: (() => unknown)[] = [];
  const owner = { after: (cleanup: () => unknown) => atEnd.unshift(cleanup) };
  let started: ServerWithOperator;
  const send = (token: string, body: object) =>
    create(started.server.plantsUrl, body, { Authorization: `Bearer ${token}` });

  before(async () => {
    started = await startWithOperator(owner);
    const florist = await storedToken(started.store, 'florist', { validMs: 10 * dayMs });
    for (const id of [1, 2, 2, 2.5, 3.5]) await send(florist, { id, name: 'Alder' });
    assert.equal((await send(florist, { id: 4 })).status, 400);
    assert.equal((await create(started.server.plantsUrl, { id: 5, name: 'Elm' })).status, 200);
    await storedToken(started.store, 'shop/1%?');
  });
  after(async () => {
    for (const cleanup of atEnd) await cleanup();
  });

  type Owner = Parameters<typeof openPage>[0];
  async function open(t: Owner, hash: string, colorScheme: 'light' | 'dark' = 'light') {
    const { origin } = new URL(started.server.opsUrl);
    const page = await openPage(t, origin, { expected: refusals, colorScheme });
    await openConsole(page, started, hash);
    return page;
  }

  const row = (page: Page, name: string) => page.getByRole('row', { name }).first();

  test('are found by a secret that a client sends', async (t) => {
    const secret = await storedToken(started.store, 'vineyard', { validMs: 30 * dayMs });
    const page = await open(t, '#/tokens');
    await page.getByRole('button', { name: 'Whose token is it?' }).click();
    const dialog = page.getByRole('dialog', { name: 'Whose token is it?' });
    const field = dialog.getByLabel('Token, as the client sends it');
    await field.fill(`${secret}x`);
    await page.keyboard.press('Enter');
    await dialog.getByRole('alert').getByText('has no token with this secret').waitFor();
    await field.fill(` Bearer ${secret} `);
    await page.keyboard.press('Enter');
    await dialog.getByRole('link', { name: 'vineyard' }).waitFor();
    await dialog.getByText('not yet').waitFor();
    assert.equal(await dialog.getByRole('alert').getByText('has no token').count(), 0);
    await assertAccessible(page);
    await assertFits(page);
    await dialog.getByRole('link', { name: 'vineyard' }).click();
    await page.getByRole('heading', { level: 1, name: 'Token vineyard' }).waitFor();
  });

  test('have figures, and a link to a page with all of them', async (t) => {
    const page = await open(t, '#/tokens');
    const florist = row(page, 'florist');
    // The threads report once a second.
    while ((await florist.getByRole('cell').nth(2).textContent()) !== '3') {
      await page.reload();
      await florist.waitFor();
    }
    assert.equal(await florist.getByRole('cell').nth(1).textContent(), '2');
    await florist.getByText('soon').waitFor();
    assert.match((await florist.textContent()) ?? '', /in 10\u00a0days/);
    await row(page, 'environment').getByText('fixed token').waitFor();
    await page.getByText('These tokens expire within 14 days').waitFor();
    await page.getByRole('link', { name: 'Overview' }).click();
    const expiring = page
      .getByRole('list', { name: 'Needs attention' })
      .getByText('1 token expires soon');
    await expiring.getByText('in 10 days').waitFor();
    await expiring.getByRole('link', { name: 'florist' }).click();
    await page.getByRole('heading', { level: 1, name: 'Token florist' }).waitFor();
    await page.getByRole('link', { name: 'All tokens' }).click();

    await florist.getByRole('link', { name: 'florist' }).click();
    await page.getByRole('heading', { level: 1, name: 'Token florist' }).waitFor();
    const requests = page.locator('section', { hasText: 'Its requests' });
    await requests.getByText(/^New plants\s*2$/).waitFor();
    await requests.getByText(/^Retries\s*1$/).waitFor();
    const byCode = page.getByRole('table', { name: 'Refused by code' });
    // The history of all services has minutes.
    const ofCode = byCode.getByRole('row').nth(1);
    const cells = ofCode.getByRole('cell');
    for (const column of [1, 2, 3])
      await cells.nth(column).getByText('2', { exact: true }).waitFor();
    await ofCode.getByRole('link', { name: '40002 id not int64', exact: true }).waitFor();
    await ofCode.getByText(/has a fraction or is out of range/).waitFor();
    await cells
      .nth(4)
      .getByText(/^\d{4}-\d\d-\d\d \d\d:\d\d$/)
      .waitFor();
    await cells
      .nth(5)
      .getByText(/:\d\d:\d\d/)
      .waitFor();
    await page.getByText('24 hours: by all services, 3 in all.').waitFor();
    await byCode.getByText('a member is missing or of the wrong type').waitFor();
    const link = (name: string) =>
      page.getByRole('link', { name, exact: true }).getAttribute('href');
    assert.deepEqual(
      [await link('All plants of this token'), await link('Its refusals')],
      ['#/plants?createdBy=florist', '#/refusals?token=florist'],
    );

    await page.getByRole('link', { name: 'All tokens' }).click();
    await page.getByRole('link', { name: 'shop/1%?' }).click();
    await page.getByRole('heading', { level: 1, name: 'Token shop/1%?' }).waitFor();
    await page.getByText('not yet').waitFor();
    await page.goto(`${started.server.opsUrl}#/tokens/nobody%`);
    await page.getByText('No token has this name').waitFor();
  });

  test('get a new secret beside the old one, which ends with the grace', async (t) => {
    const old = await storedToken(started.store, 'nursery');
    const page = await open(t, '#/tokens');
    await page.getByRole('button', { name: 'Rotate nursery' }).click();
    await page.getByLabel('The old secret stays in force').selectOption('for a week');
    await assertAccessible(page);
    await screenshot(page, 'console-rotate');
    await page.getByRole('button', { name: 'Make a new secret' }).click();
    const secret = await page.getByLabel('Secret', { exact: true }).inputValue();
    assert.match(secret, /^ps_/);
    await page.getByText(/^The old secret stays in force until 20/).waitFor();
    await screenshot(page, 'console-rotated');
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await page.getByRole('status').getByText('The token nursery has a new secret.').waitFor();
    assert(!(await page.content()).includes(secret));
    for (const token of [old, secret])
      assert.equal((await send(token, { id: 6, name: 'Fir' })).status, 200);

    await storedToken(started.store, 'later');
    alterStore(
      started.store,
      `UPDATE tokens SET last_used_at = ${Date.now() + 1_000} WHERE name = 'nursery' AND expires_at IS NOT NULL`,
    );
    await page.reload();
    await row(page, 'later').waitFor();
    await page
      .locator('.note')
      .getByText(/^The old secrets of these tokens end within 14 days, and are still in use\./)
      .waitFor();
    const names = await page
      .getByRole('table', { name: 'Tokens' })
      .getByRole('rowheader')
      .allInnerTexts();
    const at = names.indexOf('nursery');
    assert.match(names[at + 1] ?? '', /^nursery\s+rotated$/, `${names}`);

    await page.getByRole('button', { name: 'Rotate nursery' }).click();
    await page.getByRole('button', { name: 'Make a new secret' }).click();
    await page
      .getByRole('alert')
      .getByText(/^The token "nursery" has two secrets in force: .*\.$/)
      .waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('link', { name: 'nursery' }).first().click();
    const secrets = page.getByRole('table', { name: 'Secrets' });
    await secrets.getByText('rotated').waitFor();
    assert.equal(await secrets.getByRole('row').count(), 3);
    await page.getByRole('button', { name: 'Revoke nursery' }).click();
    await page.getByText('Its old secret, which is still in force, is revoked, too.').waitFor();
    await page.getByRole('button', { name: 'Keep it' }).click();
  });

  test('have old secrets that must be left, which are no tokens to rotate', async (context) => {
    const t = inReverse(context);
    const store = await storePath(t);
    const secret = await storedToken(store, 'alice', { role: 'operate' });
    for (const name of ['nursery', 'unused']) {
      await storedToken(store, name);
      const { code, stderr } = await runHere([
        'token',
        'rotate',
        name,
        '--grace',
        '24h',
        '--store',
        `sqlite:${store}`,
      ]);
      assert.equal(code, 0, stderr);
    }
    alterStore(
      store,
      `UPDATE tokens SET last_used_at = ${Date.now() + 1_000} WHERE name = 'nursery' AND expires_at IS NOT NULL`,
    );
    const other = { server: await startServer(t, store, oneThread), store, secret };
    const page = await openPage(t, new URL(other.server.opsUrl).origin, { expected: refusals });
    await openConsole(page, other);
    const matters = page.getByRole('list', { name: 'Needs attention' });
    const matter = matters.getByRole('listitem').filter({ hasText: 'old secret' });
    await matter
      .getByText(
        /^1 old secret in use ends soon: nursery in 2[34]\sh\. Its clients must move to the new secret\.$/,
      )
      .waitFor();
    assert.equal(await matters.getByText('unused').count(), 0);
    assert.equal(await matters.getByText('expires soon').count(), 0);
    await matter.getByRole('link', { name: 'nursery' }).waitFor();
  });

  test('get a rate when they are made, and another rate later', async (context) => {
    const t = inReverse(context);
    const other = await startWithOperator(t);
    const { origin } = new URL(other.server.opsUrl);
    const page = await openPage(t, origin, { expected: refusals });
    await openConsole(page, other, '#/tokens');
    await row(page, 'alice').waitFor();

    await page.getByRole('button', { name: 'Create a token' }).click();
    const rate = page.getByLabel('Creates to each node');
    const burst = page.getByLabel('Creates at once after a pause');
    await page.getByLabel('Role').selectOption('operate the service');
    assert.equal((await rate.count()) + (await burst.count()), 0);
    await page.getByLabel('Role').selectOption('create plants');
    await page.getByLabel('Name').fill('florist');
    await burst.fill('500');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const alert = page.getByRole('alert');
    await alert.getByText('A burst needs a rate such as 100/s.').waitFor();
    await assertAccessible(page);
    await rate.fill(' 100/s ');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await row(page, 'florist').getByText('create up to 100/s').waitFor();
    assert.equal(await row(page, 'alice').getByText('up to').count(), 0);
    await screenshot(page, 'console-token-rates');
    await assertFits(page);

    await page.getByRole('link', { name: 'florist' }).click();
    await page.getByText('100/s, 500 at once').waitFor();
    await page.getByRole('definition').filter({ hasText: 'by alice' }).waitFor();
    await page.getByRole('button', { name: 'Change rate of florist' }).press('Enter');
    assert.deepEqual([await rate.inputValue(), await burst.inputValue()], ['100/s', '500']);
    await rate.fill('100');
    await page.keyboard.press('Enter');
    await alert.getByText('A rate must be a number of creates in a time, such as 100/s').waitFor();
    assert.equal(await rate.inputValue(), '100', 'what was typed stays');
    await assertAccessible(page);
    await screenshot(page, 'console-change-rate');
    await assertFits(page);
    await rate.fill('5/m');
    await burst.fill('');
    await page.keyboard.press('Enter');
    await page.getByText('The token florist may send 5/m, 5 at once.').waitFor();
    await page.getByRole('definition').filter({ hasText: '5/m, 5 at once' }).waitFor();
    await page.getByRole('button', { name: 'Change rate of florist' }).click();
    assert.equal(await burst.inputValue(), '', 'the burst follows the rate');
    await page.getByRole('button', { name: 'Cancel' }).click();

    await page.getByRole('button', { name: 'Change rate of florist' }).click();
    await rate.fill('');
    await burst.fill('');
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await page
      .getByText('The token florist may send as many creates as the service takes.')
      .waitFor();
    await page.getByRole('definition').filter({ hasText: 'any' }).waitFor();
  });

  test('have a page that names who made and who revoked each secret', async (t) => {
    await storedToken(started.store, 'orchard');
    const page = await open(t, '#/tokens/orchard');
    await page.getByRole('button', { name: 'Rotate orchard' }).click();
    await page
      .getByLabel('The old secret stays in force')
      .selectOption('not at all: it has leaked');
    await page.getByRole('button', { name: 'Make a new secret' }).click();
    await page.getByRole('button', { name: 'I have kept it' }).click();
    const secrets = page.getByRole('table', { name: 'Secrets' }).getByRole('row');
    await secrets.nth(2).getByText('by alice').waitFor();
    await page.getByRole('link', { name: 'All tokens' }).click();
    await row(page, 'orchard').waitFor();
    const rows = page.getByRole('row', { name: /^orchard/ });
    assert.equal(await rows.count(), 1, 'the old secret has ended');
    await page.goBack();
    await secrets.nth(2).waitFor();
    const cells = async () =>
      Promise.all(
        [1, 2].map(async (at) => [
          await secrets.nth(at).getByRole('rowheader').innerText(),
          await secrets.nth(at).getByRole('cell').nth(1).innerText(),
        ]),
      );
    const [[made = '', ends = ''] = [], [madeBefore = '', endedBefore = ''] = []] = await cells();
    assert.match(made, /ago\s+by alice$/);
    assert.equal(ends, 'never');
    assert.match(madeBefore, /\(by whom is not recorded\)$/);
    assert.match(endedBefore, /ago\s+by alice$/);

    await page.getByRole('button', { name: 'Revoke orchard' }).click();
    await page.getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByRole('term').filter({ hasText: 'Revoked' }).waitFor();
    await page.getByRole('definition').filter({ hasText: 'by alice' }).nth(1).waitFor();
    const subject = `https://login.example.org/realms/garden ${'1b9d6bcd-'.repeat(17)}`;
    alterStore(
      started.store,
      `UPDATE tokens SET made_by = '${subject}', last_used_at = ${Date.now()} WHERE name = 'orchard'`,
    );
    await page.reload();
    await secrets
      .nth(2)
      .getByText(/by https.*bcd-$/)
      .waitFor();
    await assertAccessible(page);
    await screenshot(page, 'console-token-revoked');
    await assertFits(page);
    await screenshot(page, 'console-token-revoked-phone');
  });

  test('stand in the order of the name, the last use or the end, with those that have ended last', async (context) => {
    const t = inReverse(context);
    const other = await startWithOperator(t);
    await storedToken(other.store, 'beech', { validMs: 20 * dayMs });
    await storedToken(other.store, 'ash', { validMs: 1 });
    await storedToken(other.store, 'cedar', { validMs: 10 * dayMs });
    alterStore(
      other.store,
      `UPDATE tokens SET last_used_at = CASE name WHEN 'ash' THEN 3000 WHEN 'beech' THEN 1000 END WHERE name <> 'alice'`,
    );
    const { origin } = new URL(other.server.opsUrl);
    const page = await openPage(t, origin, { expected: refusals });
    await openConsole(page, other, '#/tokens');
    const table = page.getByRole('table', { name: 'Tokens' });
    const names = async () => {
      const heads = await table.getByRole('rowheader').allInnerTexts();
      return heads.map((head) => head.split(/\s/)[0]);
    };
    await row(page, 'ash').getByText('expired').waitFor();
    assert.deepEqual(await names(), ['alice', 'beech', 'cedar', 'ash']);
    const press = (name: string) => table.getByRole('button', { name }).press('Enter');
    await press('Ends');
    await table.locator('[aria-sort="ascending"]', { hasText: 'Ends' }).waitFor();
    assert.deepEqual(await names(), ['cedar', 'beech', 'alice', 'ash']);
    await press('Last used');
    await table.locator('[aria-sort="descending"]', { hasText: 'Last used' }).waitFor();
    assert.deepEqual(await names(), ['alice', 'beech', 'cedar', 'ash']);
    await press('Last used');
    await table.locator('[aria-sort="ascending"]', { hasText: 'Last used' }).waitFor();
    assert.deepEqual(await names(), ['cedar', 'beech', 'alice', 'ash']);
    await assertAccessible(page);
  });

  test('are refused with a whole sentence when their name is taken', async (t) => {
    const page = await open(t, '#/tokens');
    await page.getByRole('button', { name: 'Create a token' }).click();
    await page.getByLabel('Name').fill('florist');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page
      .getByRole('alert')
      .getByText(/^There is a token named "florist" already; .*\.$/)
      .waitFor();
  });

  test('that are over their rate are named, with a link to their refusals', async (context) => {
    const t = inReverse(context);
    const other = await startWithOperator(t);
    const names = ['shop&1', ...Array.from({ length: 10 }, (_, index) => `oak-${index}`)];
    for (const name of names) {
      const token = await storedToken(other.store, name, { rate: { perDay: 1, burst: 1 } });
      for (const id of [1, 2])
        await create(
          other.server.plantsUrl,
          { id, name: 'Alder' },
          { Authorization: `Bearer ${token}` },
        );
    }
    const { origin } = new URL(other.server.opsUrl);
    const page = await openPage(t, origin, { expected: refusals });
    await openConsole(page, other);
    const matters = page.getByRole('list', { name: 'Needs attention' });
    const matter = matters.getByText(
      /^11 clients were over the rate in the last minute: (.+, ){9}.+ and 1 more\.$/,
    );
    await matter.waitFor();
    await assertAccessible(page);
    await screenshot(page, 'console-over-rate');
    await assertFits(page);
    const link = matter.getByRole('link').first();
    const name = await link.innerText();
    await link.click();
    const query = new URLSearchParams({ token: name, code: '42900' });
    assert.equal(new URL(page.url()).hash, `#/refusals?${query}`);
    await page.getByRole('button', { name: /^42900/ }).waitFor();
  });

  test('that have ended and are still in use are named, and have their refusals', async (context) => {
    const t = inReverse(context);
    const other = await startWithOperator(t);
    const secret = await storedToken(other.store, 'nursery-2025', { validMs: 1 });
    for (const id of [1, 2]) {
      const fields = { Authorization: `Bearer ${secret}` };
      const { status } = await create(other.server.plantsUrl, { id, name: 'Alder' }, fields);
      assert.equal(status, 401);
    }
    const { origin } = new URL(other.server.opsUrl);
    const page = await openPage(t, origin, { expected: refusals });
    await openConsole(page, other);
    const matters = page.getByRole('list', { name: 'Needs attention' });
    await matters
      .getByText(
        '1 client was refused in the last minute with a revoked or expired secret: nursery-2025.',
      )
      .waitFor();
    assert.equal(await matters.getByText('nursery-2025').count(), 1);
    await assertAccessible(page);
    await screenshot(page, 'console-ended-in-use');
    await matters.getByRole('link', { name: 'nursery-2025' }).click();
    const query = new URLSearchParams({ token: 'nursery-2025', code: '40101' });
    assert.equal(new URL(page.url()).hash, `#/refusals?${query}`);
    await page.getByText('Live: 2 requests.').waitFor();

    await page.goto(`${other.server.opsUrl}#/tokens`);
    await page
      .getByText(/^Clients have sent these expired or revoked tokens/)
      .locator('+ ul')
      .getByRole('link', { name: 'nursery-2025' })
      .waitFor();
    const ended = row(page, 'nursery-2025');
    await ended.getByText('expired').waitFor();
    assert.deepEqual((await ended.getByRole('cell').allInnerTexts()).slice(1, 4), [
      ...['0', '2', 'never'],
    ]);
    await ended.getByRole('link', { name: 'nursery-2025' }).click();
    const requests = page.locator('section', { hasText: 'Its requests' });
    await requests.getByText(/^Refused\s*2$/).waitFor();
    await page
      .getByRole('table', { name: 'Refused by code' })
      .getByText('40101 token invalid')
      .waitFor();
    await assertAccessible(page);
  });

  test('say before they are revoked whether clients still use them', async (t) => {
    const page = await open(t, '#/tokens');
    const florist = row(page, 'florist');
    while ((await florist.getByRole('cell').nth(1).textContent()) !== '2') {
      await page.reload();
      await florist.waitFor();
    }
    await page.getByRole('button', { name: 'Revoke florist' }).click();
    const used =
      /^Last used \d+\s(s|min) ago\. 2 plants came with it since the start of this service\.$/;
    await page.getByText(used).waitFor();
    await assertAccessible(page);
    await screenshot(page, 'console-revoke-in-use');
    await page.getByRole('button', { name: 'Keep it' }).click();
    await page.getByRole('button', { name: 'Revoke shop/1%?' }).click();
    await page.getByText('It was never used.').waitFor();
    assert.equal(await page.getByText('Its old secret').count(), 0);
    await page.getByRole('button', { name: 'Keep it' }).click();
    await page.getByRole('button', { name: 'Rotate florist' }).click();
    await page.getByText('empty: a new term, as long as that of the old secret').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
  });

  for (const colorScheme of ['light', 'dark'] as const)
    test(`are accessible in ${colorScheme} colours, and fit a phone`, async (t) => {
      const page = await open(t, '#/tokens', colorScheme);
      await row(page, 'florist').waitFor();
      await assertAccessible(page);
      await screenshot(page, `console-token-list-${colorScheme}`);
      await page.goto(`${started.server.opsUrl}#/tokens/florist`);
      await page.getByRole('table', { name: 'Refused by code' }).waitFor();
      await assertAccessible(page);
      await screenshot(page, `console-token-${colorScheme}`);
      await assertFits(page);
      await page.getByRole('link', { name: 'All tokens' }).click();
      await row(page, 'florist').waitFor();
      await assertFits(page);
      await screenshot(page, `console-token-list-phone-${colorScheme}`);
    });
});
