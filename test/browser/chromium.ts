import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after } from 'node:test';
import axe, { type AxeResults } from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import type { Owner } from '../helpers/program.ts';
import { skipsAreForbidden } from '../helpers/skips.ts';

const usualPlaces = [
  // The same without windows: it takes half the CPU time.
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/snap/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

/** The Chromium that CHROMIUM names, or else one that is found. */
const program = process.env['CHROMIUM'] || usualPlaces.find(existsSync);
const missing = 'there is no Chromium here; install one, or say with CHROMIUM where it is';

/**
 * For the `skip` of a suite: why its tests, which all need a browser, are skipped, in a line of the
 * suite that can be seen. Where all tests must run, it throws instead.
 */
export function withoutChromium(): string | false {
  if (program !== undefined) return false;
  assert(!skipsAreForbidden, missing);
  return missing;
}

export interface PageOptions {
  /** Errors in the log of the browser that the test provokes, such as a reply with 401. */
  readonly expected?: RegExp;
  readonly colorScheme?: 'light' | 'dark';
}

/** One for all tests of a file, as it takes a second to start. */
let started: Promise<Browser> | undefined;
after(async () => (await started)?.close());

function startBrowser(): Promise<Browser> {
  assert(program, missing);
  return chromium.launch({
    executablePath: program,
    // Its sandbox does not work as root.
    chromiumSandbox: process.geteuid?.() !== 0,
    args: ['--disable-gpu', '--disable-quic', '--in-process-gpu'],
  });
}

/**
 * An empty page with nothing stored, for as long as the test takes. The test fails if the page
 * finds fault with anything (see `watchFaults`), also at its end.
 *
 * @param origin the only one that may be asked for anything
 */
export async function openPage(
  owner: Owner,
  origin: string,
  options: PageOptions = {},
): Promise<Page> {
  const { expected, colorScheme = 'light' } = options;
  started ??= startBrowser();
  const page = await (await started).newPage({
    colorScheme,
    viewport: { width: 1200, height: 800 },
    // Hours and half an hour from UTC.
    timezoneId: 'Asia/Kolkata',
    serviceWorkers: 'block',
  });
  // A page of a busy machine takes its time, and a job has less priority than all else there.
  page.setDefaultTimeout(180_000);
  owner.after(() => page.close());
  const faults = await watchFaults(page, origin);
  owner.after(() => {
    const unexpected = faults.filter((fault) => !expected?.test(fault));
    assert.deepEqual(unexpected, []);
  });
  return page;
}

/**
 * Gathers what goes wrong in a page and all that it opens from now on: errors that it logs or does
 * not catch, violations of its Content-Security-Policy, and requests to other origins.
 */
export async function watchFaults(page: Page, origin: string): Promise<readonly string[]> {
  const faults: string[] = [];
  const check = (url: string) => {
    if (!/^(data|blob):/.test(url) && new URL(url).origin !== origin)
      faults.push(`a request to ${url}`);
  };
  const context = page.context();
  context.on('console', (message) => {
    // What could not be loaded is not in the text.
    const of = message.text().startsWith('Failed to load') ? ` (${message.location().url})` : '';
    if (message.type() === 'error') faults.push(`an error on the console: ${message.text()}${of}`);
  });
  context.on('weberror', (webError) =>
    faults.push(`an error that was not caught: ${webError.error()}`),
  );
  context.on('request', (request) => check(request.url()));
  context.on('page', (opened) =>
    opened.on('websocket', (socket) => check(socket.url().replace(/^ws/, 'http'))),
  );
  page.on('websocket', (socket) => check(socket.url().replace(/^ws/, 'http')));
  // The browser does not report a violation that ends in an exception, which the page may catch.
  await context.addInitScript(`addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI, sample }) =>
    console.error('against the Content-Security-Policy:', effectiveDirective, blockedURI, sample))`);
  return faults;
}

/** Fails with everything that axe-core finds wrong for people with disabilities, and where. */
export async function assertAccessible(page: Page): Promise<void> {
  // Colours change by transitions, for example with the theme.
  await page.evaluate(`Promise.allSettled(
    document.getAnimations().filter((one) => one instanceof CSSTransition).map(({ finished }) => finished),
  )`);
  // The object itself would be copied into this process.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source);
  // The colours alone are others in the dark, and each page is also tested in the light.
  const { violations } = await page.evaluate<AxeResults>(`axe.run({
    resultTypes: ['violations'],
    ...(matchMedia('(prefers-color-scheme: dark)').matches && { runOnly: ['color-contrast'] }),
  })`);
  const found = violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`,
  );
  assert.deepEqual(found, []);
}

/**
 * The elements that make a page wider than its window. Commands and wide tables scroll within their
 * boxes, but not what can be done with a row, and no table does on a phone.
 */
const widerThanTheWindow = `[...document.querySelectorAll(innerWidth > 700
  ? 'main :not(pre *, [role=region] *), nav *, .change *' : 'main :not(pre *), nav *')]
  .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
  .map(({ outerHTML }) => outerHTML.slice(0, 80))`;

/** Charts follow the size of the window in the next frame. */
const drawnAgain =
  'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))';

/** Fails if the page is wider than a phone, a tablet or a large screen. It ends as on a phone. */
export async function assertFits(page: Page): Promise<void> {
  for (const width of [1280, 820, 390, 320]) {
    await page.setViewportSize({ width, height: 740 });
    await page.evaluate(drawnAgain);
    assert.deepEqual(await page.evaluate(widerThanTheWindow), [], `at ${width} px`);
    assert(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'));
  }
}

/** Folder of all pictures. `npm run screenshots` copies the pictures of the documentation. */
export const screenshotFolder = join(import.meta.dirname, 'screenshots');

/**
 * Takes a picture of the visible part of the page, as NAME.png, for `npm run screenshots`. No test
 * looks at a picture, so other runs take none.
 */
export async function screenshot(page: Page, name: string): Promise<void> {
  if (!process.env['SCREENSHOTS']) return;
  await page.screenshot({
    path: join(screenshotFolder, `${name}.png`),
    animations: 'disabled',
    caret: 'hide',
  });
}
