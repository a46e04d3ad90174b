import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { create, type Owner, type RunningServer } from '../helpers/program.ts';
import type { ServerWithOperator } from '../helpers/with-operator.ts';

/** Signs in on the page that is open, or on the one at the hash. */
export async function signIn(
  page: Page,
  { server, token }: ServerWithOperator,
  hash = '',
): Promise<void> {
  await page.goto(`${server.opsUrl}${hash}`);
  await page.getByLabel('Operator token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

/**
 * Opens the console at the hash with a session, without the page that signs in. That page costs a
 * third of the load, and `signIn` tests it.
 */
export async function openConsole(
  page: Page,
  { server, token }: ServerWithOperator,
  hash = '',
): Promise<void> {
  const session = await page.request.post(`${server.opsUrl}api/session`, {
    data: { token },
  });
  assert.equal(session.status(), 200);
  await page.goto(`${server.opsUrl}${hash}`);
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

/** The plants of test/data, with the ids from 1. */
export const commonPlants = readFileSync(
  join(import.meta.dirname, '../data/common-plants.ndjson'),
  'utf8',
)
  .trimEnd()
  .split('\n');

const burstEveryMs = 200;

/**
 * Creates plants as clients do, now more and now fewer, until the owner ends. Their ids are higher
 * than those of the common ones.
 */
export function startLoad(owner: Owner, { plantsUrl }: RunningServer): void {
  let id = 10_000;
  const burst = () => {
    const plants = Math.round(6 + 5 * Math.sin(performance.now() / 1_500));
    for (const last = id + plants; id < last; id++) {
      create(plantsUrl, { id, name: `Seedling ${id}` }).then(
        (reply) => reply.arrayBuffer(),
        // The server ends with the test.
        () => clearInterval(bursts),
      );
    }
  };
  const bursts = setInterval(burst, burstEveryMs);
  owner.after(() => clearInterval(bursts));
}

/**
 * Presses the key until the focus is on what the role and name say, as someone does who has no
 * pointer.
 */
export async function moveTo(
  page: Page,
  key: 'Tab' | 'Shift+Tab',
  role: 'button' | 'link' | 'textbox',
  name: string,
): Promise<void> {
  const target = page.getByRole(role, { name, exact: true }).first();
  const stepsMax = 40;
  for (let steps = 0; steps < stepsMax; steps++) {
    await page.keyboard.press(key);
    if ((await target.and(page.locator(':focus')).count()) > 0) return;
  }
  assert.fail(`${key} does not lead to the ${role} ${name}`);
}
