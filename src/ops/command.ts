import { spawn } from 'node:child_process';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { CommandError, command } from '../cli/command.ts';
import type { Environment } from '../cli/flags/environment.ts';
import type { Values } from '../cli/flags/flags.ts';
import { readSmallFile } from '../disk/files.ts';
import { reachable } from '../hosts.ts';
import { limits } from '../limits.ts';
import { openToChange } from '../store/engines.ts';
import { makeSignInLink } from '../tokens/sessions.ts';
import type { Readiness } from './contract.ts';

const addressFlags = ['ops-host', 'ops-port', 'ops-tls-certificate'] as const;

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
    await using store = await openToChange(values.store);
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

export const healthcheck = command({
  positionals: [],
  summary:
    'Ask a running service whether it stores creates. The exit code is 1 if it does not, or does not answer.',
  need: 'Use it for the health check of a container, which has no curl.',
  flags: [...addressFlags, 'json'],
  examples: ['plant-store healthcheck', 'plant-store healthcheck --ops-port 9091'],
  async run({ values }, terminal) {
    const { ready, checks } = await readiness(operatorAddress(values, 'ask for the health'));
    if (values.json) terminal.print(JSON.stringify({ ready, checks }));
    else for (const { name, level, says } of checks) terminal.print(`${level}  ${name}: ${says}`);
    return ready ? 0 : 1;
  },
});

type OperatorAddress = ReturnType<typeof operatorAddress>;

/** @param purpose what a command needs the port for */
function operatorAddress(values: Values<(typeof addressFlags)[number]>, purpose: string) {
  const { 'ops-host': host, 'ops-port': port, 'ops-tls-certificate': certificate } = values;
  if (port === 'off') throw new CommandError(`--ops-port off leaves no port to ${purpose}`);
  // The certificate of the service in PEM. Without one, connections are not encrypted.
  return { host: reachable(host), port, certificate };
}

function consoleUrl({ host, port, certificate }: OperatorAddress): string {
  const scheme = certificate === undefined ? 'http' : 'https';
  return `${scheme}://${isIP(host) === 6 ? `[${host}]` : host}:${port}/`;
}

/** Asks the operators' listener for `/readyz`. @throws CommandError if no service answers */
async function readiness(address: OperatorAddress): Promise<Readiness> {
  const body = await ask(address).catch((error) => {
    throw noAnswer(address, error.message);
  });
  if (/^\{"ready":(true|false),"checks":\[/.test(body)) return JSON.parse(body);
  // Such as that of a port with TLS.
  if (/^\{"error":[0-9]+,"message":"/.test(body)) throw noAnswer(address, JSON.parse(body).message);
  throw noAnswer(address, 'the reply is not from Plant Store');
}

function noAnswer({ host, port }: OperatorAddress, why: string): CommandError {
  const named =
    'start the service, or name its port with --ops-host and --ops-port, and its certificate with ' +
    '--ops-tls-certificate';
  return new CommandError(`no service answers at ${host} port ${port} (${why}); ${named}`);
}

/** The certificate must be that of the file, which is for other names than this address. */
async function ask({ host, port, certificate }: OperatorAddress): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const timeout = limits.cli.healthMs;
  const tls = certificate !== undefined && {
    ca: readSmallFile(certificate, limits.tls.fileBytesMax),
    allowPartialTrustChain: true,
    checkServerIdentity: () => undefined,
  };
  // An import of node:http would load `fetch`, too: 80 ms of CPU time, and 16 MB. TLS takes 40 ms.
  const http = process.getBuiltinModule(tls ? 'node:https' : 'node:http');
  const headers = { Host: `localhost:${port}` };
  const asked = http
    .request({ host, port, path: '/readyz', headers, timeout, ...tls })
    .on('response', (reply) => bodyOf(reply).then(resolve, reject))
    .on('timeout', () => asked.destroy(new Error(`no reply within ${timeout / 1_000} s`)))
    .on('error', reject)
    .end();
  return promise;
}

async function bodyOf(reply: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of reply) {
    bytes += chunk.length;
    if (bytes > limits.cli.replyBytesMax) throw new Error('the reply is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
