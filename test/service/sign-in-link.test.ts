import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { makeSignInLink } from '../../src/access/sign-in-link.ts';
import { storeLocation } from '../../src/config/store-location.ts';
import { limits } from '../../src/limits.ts';
import { openExistingStore } from '../../src/stores.ts';
import { startPostgres } from '../helpers/postgres.ts';
import { oneThread, startServer, storePath, storeText } from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';

const { signInLinkMs } = limits.access;

const stores = {
  SQLite: await storePath({ after }),
  PostgreSQL: await (await startPostgres({ after })).makeDatabase(),
};
const servers = await Promise.all(
  Object.values(stores).map((store) => startServer({ after }, store, oneThread)),
);

for (const [index, [engine, store]] of Object.entries(stores).entries()) {
  const server = servers[index] ?? assert.fail('no server');
  async function linkMadeAt(nowMs: number): Promise<string> {
    const location = storeLocation(storeText(store), {});
    await using opened = await openExistingStore(location, limits.cli.lockMs);
    return (await makeSignInLink(opened, nowMs)).secret;
  }

  async function signIn(
    json: object,
  ): Promise<{ readonly status: number; readonly error: number; readonly cookie: string }> {
    const reply = await fetch(`${server.opsUrl}api/session`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(json),
    });
    const { error } = (await reply.json()) as { error: number };
    const cookie = /^[^;]+/.exec(reply.headers.get('Set-Cookie') ?? '')?.[0] ?? '';
    return { status: reply.status, error, cookie };
  }

  /** Also where there were too many guesses. */
  const isRefused = async (json: object) => [401, 429].includes((await signIn(json)).status);

  async function operatorOf(cookie: string): Promise<unknown> {
    const reply = await fetch(`${server.opsUrl}api/session`, { headers: { Cookie: cookie } });
    const { name } = (await reply.json()) as { name?: string };
    return name;
  }

  test(`${engine}: a sign-in link signs in one of those who use it at once, and nobody after`, async () => {
    const link = await linkMadeAt(Date.now());
    const answers = await Promise.all([1, 2, 3, 4].map(() => signIn({ link })));
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted(),
      [200, 401, 401, 401],
      JSON.stringify(answers),
    );
    const winner = answers.find(({ status }) => status === 200);
    assert.equal(await operatorOf(winner?.cookie ?? ''), 'command line');
    await server.logged((log) => /"operator":"command line"/.test(log));
    assert(!server.stderr().includes(link));

    const again = await signIn({ link });
    assert.deepEqual([again.status, again.error], [401, 40152]);
  });

  test(`${engine}: a link that is older than a minute, a session as a link, and a link as a session or a token are refused`, async () => {
    assert(await isRefused({ link: await linkMadeAt(Date.now() - signInLinkMs - 1) }));

    const link = await linkMadeAt(Date.now());
    const port = new URL(server.opsUrl).port;
    assert.equal(await operatorOf(`plant_store_session_${port}=${link}`), undefined);
    assert(await isRefused({ token: link }));
    const { status, cookie } = await signIn({ link });
    assert.equal(status, 200);
    assert(await isRefused({ link: cookie.replace(/^.*=/, '') }));
  });

  test(`${engine}: token list names the command line, and token revoke ends its sessions and its links`, async () => {
    const { cookie } = await signIn({ link: await linkMadeAt(Date.now()) });
    const unused = await linkMadeAt(Date.now());
    assert.equal(await operatorOf(cookie), 'command line');
    const inStore = ['--store', storeText(store)];
    const { stdout } = await runHere(['token', 'list', '--json', ...inStore]);
    const listed = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      listed.filter(({ name }) => name === 'command line').map(({ role }) => role),
      ['subject'],
    );

    const revoked = await runHere(['token', 'revoke', 'command line', ...inStore]);
    assert.deepEqual([revoked.code, revoked.stdout], [0, '']);
    assert.match(revoked.stderr, /^All sessions of command line have ended\./);
    assert.equal(await operatorOf(cookie), undefined);
    assert(await isRefused({ link: unused }));
    assert.equal((await signIn({ link: await linkMadeAt(Date.now()) })).status, 200);
  });
}
