import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { storeLocation } from '../../src/cli/flags/store-location.ts';
import { limits } from '../../src/limits.ts';
import { engineOf } from '../../src/store/engines.ts';
import { makeSignInLink } from '../../src/tokens/sessions.ts';
import { ask, cookieOf } from '../helpers/operators.ts';
import { sharedPostgres } from '../helpers/postgres.ts';
import { oneThread, startServer, storePath, storeText } from '../helpers/program.ts';
import { done, doneRecords, on } from '../helpers/run-here.ts';

const { signInLinkMs } = limits.access;

const stores = {
  SQLite: await storePath({ after }),
  PostgreSQL: await (await sharedPostgres({ after })).makeDatabase(),
};
const servers = await Promise.all(
  Object.values(stores).map((store) => startServer({ after }, store, oneThread)),
);

for (const [index, [engine, store]] of Object.entries(stores).entries()) {
  const server = servers[index] ?? assert.fail('no server');
  async function linkMadeAt(nowMs: number): Promise<string> {
    const location = storeLocation(storeText(store), {});
    await using opened = await engineOf(location).open({ callMs: limits.cli.lockMs });
    const { secret } = await makeSignInLink(opened, nowMs);
    assert.match(secret, /^[A-Za-z0-9_-]{43}$/, '256 bits');
    return secret;
  }

  const signIn = (json: object) => ask(server, 'POST api/session', { json });

  /** Also where there were too many guesses. */
  const isRefused = async (json: object) => [401, 429].includes((await signIn(json)).status);

  const operatorOf = async (cookie: string) =>
    (await ask(server, 'GET api/session', { cookie })).body.name;

  test(`${engine}: a sign-in link signs in one of those who use it at once, and nobody after`, async () => {
    const link = await linkMadeAt(Date.now());
    const answers = await Promise.all([1, 2, 3, 4].map(() => signIn({ link })));
    const statuses = answers.map(({ status }) => status).toSorted();
    assert.deepEqual(statuses, [200, 401, 401, 401], JSON.stringify(answers));
    const winner = answers.find(({ status }) => status === 200) ?? assert.fail();
    assert.equal(await operatorOf(cookieOf(winner)), 'command line');
    await server.logged((log) => /"operator":"command line"/.test(log));
    assert(!server.stderr().includes(link));
    if (engine === 'SQLite')
      for (const secret of [link, cookieOf(winner).replace(/^.*=/, '')])
        for (const file of [store, `${store}-wal`]) assert(!readFileSync(file).includes(secret));

    const again = await signIn({ link });
    assert.deepEqual([again.status, again.body.error], [401, 40152]);
  });

  test(`${engine}: a link that is older than a minute, a session as a link, and a link as a session or a token are refused`, async () => {
    assert(await isRefused({ link: await linkMadeAt(Date.now() - signInLinkMs - 1) }));

    const link = await linkMadeAt(Date.now());
    const port = new URL(server.opsUrl).port;
    assert.equal(await operatorOf(`plant_store_session_${port}=${link}`), undefined);
    assert(await isRefused({ token: link }));
    const cookie = cookieOf(await signIn({ link }));
    assert(await isRefused({ link: cookie.replace(/^.*=/, '') }));
  });

  test(`${engine}: token list names the command line, and token revoke ends its sessions and its links`, async () => {
    const cookie = cookieOf(await signIn({ link: await linkMadeAt(Date.now()) }));
    const unused = await linkMadeAt(Date.now());
    assert.equal(await operatorOf(cookie), 'command line');
    const listed = await doneRecords('token', 'list', ...on(store));
    const roles = listed.filter(({ name }) => name === 'command line').map(({ role }) => role);
    assert.deepEqual(roles, ['subject']);

    const revoked = await done('token', 'revoke', 'command line', ...on(store));
    assert.equal(revoked.stdout, '');
    assert.match(revoked.stderr, /^All sessions of command line have ended\./);
    assert.equal(await operatorOf(cookie), undefined);
    assert(await isRefused({ link: unused }));
    assert.equal((await signIn({ link: await linkMadeAt(Date.now()) })).status, 200);
  });
}
