import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { limits } from '../../../src/limits.ts';
import { StoreError } from '../../../src/store/errors.ts';
import { openConnector } from '../../../src/store/postgres/connector.ts';
import { openPool, type Pool } from '../../../src/store/postgres/pool.ts';
import { joinPostgresStore, openPostgresStore } from '../../../src/store/postgres/store.ts';
import type { Query } from '../../../src/store/postgres/transaction.ts';
import { until } from '../../helpers/pause.ts';
import { nameOfDatabase, startPostgres } from '../../helpers/postgres.ts';
import { locationOf, withinMs } from '../../helpers/postgres-connection.ts';
import { skipVisibly } from '../../helpers/skips.ts';
import { startProxy } from '../../helpers/tcp-proxy.ts';

const server = await startPostgres({ after });
// A busy machine takes its time.
const options = { callMs: 60_000, acceptsLostCommits: false };

/** The URL of a new database, for a role that may open so many connections. */
async function databaseOf(role: string, connectionsMax: number): Promise<URL> {
  const url = new URL(await server.makeDatabase());
  await server.query(`CREATE ROLE ${role} LOGIN CONNECTION LIMIT ${connectionsMax};
    ALTER DATABASE ${nameOfDatabase(`${url}`)} OWNER TO ${role}`);
  url.username = role;
  return url;
}

function poolOn(t: TestContext, url: string): Pool {
  const pool = openPool(openConnector(locationOf(url), withinMs, { acceptsLostCommits: true }), 2);
  t.after(() => pool.close());
  return pool;
}

async function processOf(pool: Pool): Promise<number> {
  return pool.run(async (query) => (await query('SELECT pg_backend_pid()')).rows[0]?.[0]);
}

/** As a thread that computes: what arrives meanwhile is read later. */
function blockEventLoop(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

for (const connectionsMax of [3, 5])
  test(`three threads create plants with the ${connectionsMax} connections that their role may open`, async (t) => {
    const role = `limited${connectionsMax}`;
    const location = locationOf(`${await databaseOf(role, connectionsMax)}`);
    await using store = await openPostgresStore(location, { ...options, mayMake: true });
    const shares = [1, 2].map(() => store.share(new Worker('', { eval: true })));
    const others = shares.map((share) => joinPostgresStore(location, share, options));
    t.after(() => Promise.all(others.map((other) => other.close())));
    let id = 0n;
    const createSome = async (thread: typeof store | (typeof others)[0]) => {
      for (let count = 0; count < 50; count += 1)
        await thread.createPlants([
          { id: (id += 1n), name: 'Alder', tag: undefined, createdBy: 0 },
        ]);
    };
    const threads = [store, ...others];
    await Promise.all([...threads, ...threads, ...threads].map(createSome));
    const refusals = server.log().match(new RegExp(`too many connections for role "${role}"`, 'g'));
    assert(refusals !== null && refusals.length < 20, `${refusals?.length} refusals`);
  });

test('a statement is sent again after the server has ended the session for its idle time', async (t) => {
  const [known] = await server.query("SELECT FROM pg_settings WHERE name = 'idle_session_timeout'");
  if (known === undefined) return skipVisibly(t, 'PostgreSQL 13 has no idle_session_timeout');
  const url = await databaseOf('idler', -1);
  await server.query("ALTER ROLE idler SET idle_session_timeout = '50ms'");
  const pool = poolOn(t, `${url}`);
  const first = await processOf(pool);
  blockEventLoop(200);
  assert.notEqual(await processOf(pool), first);
});

test('a connection that has not been needed for a time is closed', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const pool = poolOn(t, `postgres://postgres@127.0.0.1:${server.port}/postgres`);
  const both = await Promise.all([processOf(pool), processOf(pool)]);
  t.mock.timers.tick(limits.postgres.connectionIdleMs);
  const needed = await processOf(pool);
  t.mock.timers.tick(limits.postgres.connectionIdleMs);
  const open = `SELECT pid FROM pg_stat_activity WHERE pid IN (${both})`;
  await until(
    () => server.query(open),
    ({ length }) => length === 1,
  );
  assert.deepEqual(await server.query(open), [{ pid: needed }]);
});

test('another connection takes the place of an old one, before work needs the new one', async (t) => {
  const url = `postgres://postgres@127.0.0.1:${server.port}/postgres?application_name=aged`;
  const pool = poolOn(t, url);
  const first = await processOf(pool);
  const now = performance.now.bind(performance);
  t.mock.method(performance, 'now', () => now() + limits.postgres.connectionAgeMs);
  assert.equal(await processOf(pool), first);
  const open = "SELECT pid FROM pg_stat_activity WHERE application_name = 'aged'";
  const [found] = await until(
    () => server.query(open),
    ([one]) => one !== undefined && one['pid'] !== first,
  );
  assert.equal(await processOf(pool), found?.['pid']);
});

test('a statement is sent again after a reset that came before', async (t) => {
  const proxy = await startProxy(t, server.port);
  const pool = poolOn(t, `postgres://postgres@127.0.0.1:${proxy.port}/postgres`);
  const answer = () => pool.run(async (query) => (await query('SELECT 42')).rows);
  assert.deepEqual(await answer(), [[42]]);
  proxy.reset();
  assert.deepEqual(await answer(), [[42]]);
});

test('work that refuses something ends no session', async (t) => {
  const pool = poolOn(t, `postgres://postgres@127.0.0.1:${server.port}/postgres`);
  const first = await processOf(pool);
  const refuse = () => Promise.reject(new StoreError('unavailable', 'too few standbys'));
  await assert.rejects(pool.run(refuse), /too few standbys/);
  assert.equal(await processOf(pool), first);
});

test('a statement is not sent again after its session was ended, because it may have run', async (t) => {
  const pool = poolOn(t, `postgres://postgres@127.0.0.1:${server.port}/postgres`);
  let runs = 0;
  const work = async (query: Query) => {
    runs += 1;
    return query('SELECT pg_terminate_backend(pg_backend_pid())');
  };
  await assert.rejects(pool.run(work), /terminating connection/);
  assert.equal(runs, 1);
});
