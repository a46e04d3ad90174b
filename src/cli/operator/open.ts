import { makeSignInLink } from '../../access/sign-in-link.ts';
import { limits } from '../../limits.ts';
import { openExistingStore } from '../../stores.ts';
import { command } from '../command.ts';
import { addressFlags, consoleUrl, operatorAddress } from './address.ts';
import { browserCommand, openBrowser } from './browser.ts';
import { readiness } from './readiness.ts';

const linkSeconds = limits.access.signInLinkMs / 1_000;

export const open = command({
  positionals: [],
  summary: 'Open the console in a browser, signed in by a link that works once.',
  need: 'Use it on the machine of the service, to sign in without a token.',
  flags: ['store', ...addressFlags, 'json'],
  examples: ['plant-store open', 'plant-store open --json'],
  async run({ values }, terminal) {
    const address = operatorAddress(values, 'open the console');
    await readiness(address);
    await using store = await openExistingStore(values.store, limits.cli.lockMs);
    const { secret, expiresAtMs } = await makeSignInLink(store, Date.now());
    const page = consoleUrl(address);
    const url = `${page}#/sign-in?link=${secret}`;
    if (values.json) {
      terminal.print(JSON.stringify({ url, expiresAt: new Date(expiresAtMs).toISOString() }));
      return 0;
    }
    const browser =
      terminal.width === undefined ? undefined : browserCommand(process.platform, terminal.env);
    if (browser !== undefined && (await openBrowser(browser, url))) {
      terminal.note(`The browser opens the console at ${page}`);
      return 0;
    }
    terminal.print(url);
    terminal.note(`The link signs in once, within ${linkSeconds} seconds.`);
    return 0;
  },
});
