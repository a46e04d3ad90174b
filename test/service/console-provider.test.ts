import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { freePort } from '../helpers/free-port.ts';
import { makeKey, secret, startProvider } from '../helpers/identity-provider.ts';
import { pause } from '../helpers/pause.ts';
import { oneThread, startServer, storePath, temporaryFolder } from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';

const opsPort = await freePort();
const consoleUrl = `http://localhost:${opsPort}/`;
const provider = await startProvider({ after }, [await makeKey('key')], {
  redirectUri: `${consoleUrl}api/sign-in/callback`,
});
const secretFile = join(await temporaryFolder({ after }), 'secret');
await writeFile(secretFile, `${secret}\n`);
const store = await storePath({ after });

function flags(person: string): string[] {
  const values = {
    'ops-port': `${opsPort}`,
    'ops-issuer': provider.issuer,
    'ops-client-id': 'console',
    'ops-client-secret-file': secretFile,
    'ops-scope': `openid ${person}`,
    'ops-claim': 'groups=operators',
    'ops-url': consoleUrl.slice(0, -1),
  };
  return [...oneThread, ...Object.entries(values).flatMap(([name, value]) => [`--${name}`, value])];
}

/** A browser, as far as redirections and cookies go. */
class Browser {
  private readonly cookies = new Map<string, Map<string, string>>();

  /** Follows redirections. @returns each address, and the last reply */
  async open(address: string): Promise<{ addresses: URL[]; reply: Response }> {
    const addresses: URL[] = [];
    for (let url = new URL(address); ; ) {
      addresses.push(url);
      const reply = await this.ask(url);
      const location = reply.headers.get('location');
      if (location === null) return { addresses, reply };
      url = new URL(location, url);
    }
  }

  async ask(url: URL): Promise<Response> {
    const jar = this.cookies.get(url.host) ?? new Map<string, string>();
    this.cookies.set(url.host, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const reply = await fetch(url, { redirect: 'manual', headers: { Cookie: cookie } });
    for (const line of reply.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') jar.delete(name);
      else jar.set(name, value);
    }
    return reply;
  }
}

async function sessionOf(browser: Browser): Promise<{ status: number; name?: string }> {
  const reply = await browser.ask(new URL('api/session', consoleUrl));
  return { status: reply.status, ...((await reply.json()) as { name?: string }) };
}

const server = await startServer({ after }, store, flags('alice'), {});

test('an operator signs in at the identity provider', async () => {
  const browser = new Browser();
  assert.equal((await sessionOf(browser)).status, 401);
  const offered = await browser.ask(new URL('api/provider', consoleUrl));
  assert.deepEqual(await offered.json(), { issuer: provider.issuer });

  const { addresses, reply } = await browser.open(`${consoleUrl}api/sign-in`);
  assert.equal(`${addresses.at(-1)}`, consoleUrl);
  assert.equal(reply.status, 200);
  const asked = addresses.find(({ pathname }) => pathname === '/auth')?.searchParams;
  assert.equal(asked?.get('code_challenge_method'), 'S256');
  assert.equal(asked?.get('response_type'), 'code');

  assert.deepEqual(await sessionOf(browser), { status: 200, name: `${provider.issuer} alice` });
  assert(!server.stderr().includes(secret));
});

test('a code is not taken from a browser that has not begun the sign-in', async () => {
  const browser = new Browser();
  const { addresses } = await browser.open(`${consoleUrl}api/sign-in`);
  const callback = addresses.find(({ pathname }) => pathname.endsWith('/callback'));
  assert(callback);
  const other = new Browser();
  const { addresses: refused } = await other.open(`${callback}`);
  assert.equal(refused.at(-1)?.searchParams.get('sign-in'), 'refused');
  assert.equal((await sessionOf(other)).status, 401);

  const wrongState = new URL(callback);
  wrongState.searchParams.set('state', 'another');
  await other.ask(new URL('api/sign-in', consoleUrl));
  const { addresses: mixedUp } = await other.open(`${wrongState}`);
  assert.equal(mixedUp.at(-1)?.searchParams.get('sign-in'), 'refused');
  assert.equal((await sessionOf(other)).status, 401);
});

test('while the provider is away the page says so, and a token still signs in', async () => {
  const { stdout } = await runHere([
    ...['token', 'create', 'clerk', '--role', 'operate'],
    ...['--store', `sqlite:${store}`],
  ]);
  const recover = provider.fail();
  const callback = `${consoleUrl}api/sign-in/callback?code=a&state=b&iss=${provider.issuer}`;
  const { addresses } = await new Browser().open(callback);
  assert.equal(addresses.at(-1)?.searchParams.get('sign-in'), 'refused');
  const reply = await fetch(`${consoleUrl}api/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ token: stdout.trim() }),
  });
  assert.equal(reply.status, 200);
  recover();
});

test('an account without the claim is refused, and an unreachable provider is said', async (t) => {
  await server.stop();
  const recover = provider.fail();
  const again = await startServer(t, store, flags('bob'), {});
  const { addresses: away } = await new Browser().open(`${consoleUrl}api/sign-in`);
  assert.equal(away.at(-1)?.searchParams.get('sign-in'), 'unavailable');
  recover();

  const browser = new Browser();
  const attempt = async () => {
    const { addresses } = await browser.open(`${consoleUrl}api/sign-in`);
    return addresses.at(-1)?.searchParams.get('sign-in');
  };
  let outcome = await attempt();
  for (; outcome === 'unavailable'; outcome = await attempt()) await pause();
  assert.equal(outcome, 'not an operator');
  assert.equal((await sessionOf(browser)).status, 401);
  await again.logged((log) => log.includes('bob lacks groups=operators'));
});

test('flags of the provider must come together', async () => {
  for (const [args, says] of [
    [['--ops-issuer', 'https://a.example'], /--ops-client-id is missing: --ops-issuer, /],
    [['--ops-issuer', 'http://a.example'], /--ops-issuer must be URLs that start with https/],
    [['--ops-url', 'https://a.example/console'], /--ops-url must be a URL without a path/],
    [['--ops-claim', 'operators'], /--ops-claim must be a claim and its value, such as groups=/],
    [
      [...flags('alice').slice(2), '--ops-scope', 'profile'],
      /--ops-scope must have the scope openid/,
    ],
  ] as const) {
    const { code, stderr } = await runHere(['serve', ...args, '--store', `sqlite:${store}`]);
    assert.equal(code, 2, stderr);
    assert.match(stderr, says);
  }
});
