import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { freePort } from '../helpers/free-port.ts';
import { makeKey, startProvider } from '../helpers/identity-provider.ts';
import { oneThread, startServerOnNewStore } from '../helpers/program.ts';
import { assertAccessible, openPage, withoutChromium } from './chromium.ts';

describe('the sign-in at an identity provider', { skip: withoutChromium() }, () => {
  test('leads through the provider to the console', async (t) => {
    const opsPort = await freePort();
    const url = `http://localhost:${opsPort}`;
    const provider = await startProvider(t, [await makeKey('key')], {
      redirectUri: `${url}/api/sign-in/callback`,
    });
    await startServerOnNewStore(
      t,
      ...oneThread,
      ...['--ops-port', `${opsPort}`, '--ops-issuer', provider.issuer, '--ops-client-id', 'public'],
      ...['--ops-scope', 'openid alice', '--ops-claim', 'groups=operators', '--ops-url', url],
    );
    const page = await openPage(t, url, {
      expected: new RegExp(`a request to ${provider.issuer}/|status of 401`),
    });
    await page.goto(`${url}/?sign-in=unavailable`);
    await page.getByText('The identity provider cannot be reached now.').waitFor();
    await assertAccessible(page);
    await page.getByRole('link', { name: 'Sign in with 127.0.0.1' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    assert.equal(page.url(), `${url}/`);
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  });
});
