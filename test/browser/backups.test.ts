import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { tryLockFile } from '../../src/stores.ts';
import { oneThread, startServer, storePath } from '../helpers/program.ts';
import { storedToken } from '../helpers/stored-token.ts';
import {
  assertAccessible,
  assertFits,
  inReverse,
  openPage,
  screenshot,
  withoutChromium,
} from './chromium.ts';
import { openConsole } from './console.ts';

async function openBackups(context: TestContext, args: (folder: string) => readonly string[]) {
  const t = inReverse(context);
  const store = await storePath(t);
  const folder = join(dirname(store), 'backups');
  mkdirSync(folder);
  const secret = await storedToken(store, 'alice', { role: 'operate' });
  // Another process has claimed the folder, so a backup waits.
  const lock = tryLockFile(join(folder, '.plants.lock')) ?? assert.fail('the lock is taken');
  const server = await startServer(t, store, [...oneThread, ...args(folder)]);
  const page = await openPage(t, new URL(server.opsUrl).origin, { expected: /status of 401/ });
  await openConsole(page, { server, store, secret }, '#/backups');
  await page.getByRole('heading', { level: 1, name: 'Backups', exact: true }).waitFor();
  return { server, page, folder, lock };
}

/** In both themes, and at each width. */
async function assertGood(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await assertAccessible(page);
    await screenshot(page, `console-backups-${name}-${colorScheme}`);
  }
  const size = page.viewportSize();
  await assertFits(page);
  await assertAccessible(page);
  await screenshot(page, `console-backups-${name}-phone`);
  if (size) await page.setViewportSize(size);
}

describe('the page of backups', { skip: withoutChromium(), concurrency: 2 }, () => {
  test('shows a job with its progress, stops it, makes a backup, verifies and downloads it', async (t) => {
    const { server, page, folder, lock } = await openBackups(t, (to) => [
      ...['--backup-to', to, '--log-level', 'debug'],
    ]);
    await page.getByText('There is no backup yet.').waitFor();
    const bar = page.getByRole('progressbar', { name: 'Making a backup' });
    await bar.waitFor();
    await page.getByText('started by the schedule').waitFor();
    assert(await page.getByRole('button', { name: 'Make a backup now' }).isDisabled());
    await assertGood(page, 'running');
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByText('The page Backups makes one.').waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('status').getByText('The backup was stopped.').waitFor();
    // Else the schedule could begin the jobs that follow a backup, and a check had to wait.
    await server.logged((text) => /a job was stopped.*no job is due/s.test(text));

    lock[Symbol.dispose]();
    await page.getByRole('button', { name: 'Make a backup now' }).click();
    await page.getByRole('status').getByText('The backup is done, and is sound.').waitFor();
    const file = readdirSync(folder).find((name) => name.endsWith('.db')) ?? assert.fail();
    const row = page.getByRole('row').filter({ hasText: file });
    await row.getByText('sound').waitFor();
    await page.getByRole('button', { name: `Verify ${file}` }).click();
    await page
      .getByRole('status')
      .getByText(`The check of ${file} is done: the backup is sound.`)
      .waitFor();
    await assertGood(page, 'list');

    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: `Download file ${file}` }).click();
    const download = await downloading;
    assert.equal(download.suggestedFilename(), file);
    const content = readFileSync(await download.path());
    assert(content.equals(readFileSync(join(folder, file))));
  });

  test('says which flag makes backups, if none is set', async (t) => {
    const { page } = await openBackups(t, () => []);
    await page.getByText('This service makes no backups').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Make a backup now' }).count(), 0);
    await assertGood(page, 'off');
  });
});
