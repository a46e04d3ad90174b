import { spawn } from 'node:child_process';
import { makeSignInLink } from '../../access/sessions.ts';
import type { Environment } from '../../config/environment.ts';
import { limits } from '../../limits.ts';
import { openExistingStore } from '../../stores.ts';
import { command } from '../command.ts';
import { addressFlags, consoleUrl, operatorAddress, readiness } from './address.ts';

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

type CommandLine = readonly [file: string, ...args: string[]];

/** The command that opens a page for the person at this machine; undefined without a desktop. */
export function browserCommand(
  platform: NodeJS.Platform,
  env: Environment,
): CommandLine | undefined {
  if (env['SSH_CONNECTION']) return undefined;
  if (platform === 'darwin') return ['open'];
  // The first argument of `start` in quotes is the title of a window.
  if (platform === 'win32') return ['cmd.exe', '/d', '/c', 'start', '""'];
  return env['DISPLAY'] || env['WAYLAND_DISPLAY'] ? ['xdg-open'] : undefined;
}

/** @returns whether the command has succeeded, or still runs after `limits.cli.browserMs` */
export function openBrowser([file, ...args]: CommandLine, url: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const browser = spawn(file, [...args, url], { detached: true, stdio: 'ignore' });
  browser.on('error', () => resolve(false)).on('exit', (code) => resolve(code === 0));
  const running = setTimeout(() => resolve(true), limits.cli.browserMs);
  browser.unref();
  return promise.finally(() => clearTimeout(running));
}
