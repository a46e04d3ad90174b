import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import pg from 'pg';
import { lacksPgBouncer, startPgBouncer } from '../helpers/pgbouncer.ts';
import { nameOfDatabase, startPostgres } from '../helpers/postgres.ts';
import { create, oneThread, startServer } from '../helpers/program.ts';

/** What is not synced with its commit is not written within the test. */
const timeout = 60_000;
const server = await startPostgres({ after }, { wal_writer_delay: '10s', autovacuum: 'off' });

test('an acknowledged plant survives the crash of the server, also where another client of the pooler does not wait for the disk', {
  timeout,
}, async (t) => {
  if (lacksPgBouncer(t)) return;
  const url = await server.makeDatabase();
  const { plantsUrl, other } = await behindPooler(t, url);
  await other.query('SET synchronous_commit = off');
  for (let id = 1; id <= plantsCreated; id += 1)
    assert.equal((await create(plantsUrl, { id, name: 'Alder' })).status, 200);
  await server.kill();
  await server.start();
  assert.deepEqual(await server.query('SELECT count(*)::int FROM plants', nameOfDatabase(url)), [
    { count: plantsCreated },
  ]);
});

const plantsCreated = 20;

/** What other clients of a pooler leave in a session. */
const left = [
  'CREATE TEMPORARY TABLE plants (LIKE public.plants INCLUDING ALL)',
  'SET search_path = elsewhere',
  'SET array_nulls = off',
  "SET client_encoding = 'LATIN1'",
  "SET default_transaction_isolation = 'serializable'",
  'SET default_transaction_read_only = on',
  'RESET default_transaction_read_only; SET idle_in_transaction_session_timeout = 1; SET lock_timeout = 1',
  'DEALLOCATE ALL',
];

test('a plant is stored as it was sent, whatever another client of a pooler has left in the session', {
  timeout,
}, async (t) => {
  if (lacksPgBouncer(t)) return;
  const url = await server.makeDatabase();
  const { plantsUrl, other } = await behindPooler(t, url);
  const plants = left.map((_, id) => ({ id, name: 'Ålder', ...(id % 2 && { tag: 'tree' }) }));
  for (const [id, statement] of left.entries()) {
    await other.query(statement);
    const reply = await create(plantsUrl, plants[id] ?? {});
    assert.equal(reply.status, 200, statement);
  }
  const rows = await server.query(
    'SELECT id::int, name, tag FROM plants ORDER BY id',
    nameOfDatabase(url),
  );
  assert.deepEqual(
    rows,
    plants.map((plant) => ({ tag: null, ...plant })),
  );
});

test('another client of a pooler finds the settings of its session as they were', async (t) => {
  if (lacksPgBouncer(t)) return;
  const { plantsUrl, other } = await behindPooler(t, await server.makeDatabase());
  const settings = async () =>
    (await other.query("SELECT name, setting FROM pg_settings WHERE source <> 'override'")).rows;
  const before = await settings();
  assert.equal((await create(plantsUrl, { id: 1, name: 'Alder' })).status, 200);
  assert.deepEqual(await settings(), before);
  assert.deepEqual((await other.query('SELECT name FROM pg_prepared_statements')).rows, []);
});

test('a schema that the URL names holds the store, although the pooler drops the parameter', async (t) => {
  if (lacksPgBouncer(t)) return;
  const url = await server.makeDatabase();
  await server.query('CREATE SCHEMA garden', nameOfDatabase(url));
  const { plantsUrl } = await behindPooler(t, url, '?options=-csearch_path%3Dgarden');
  assert.equal((await create(plantsUrl, { id: 1, name: 'Alder' })).status, 200);
  const rows = await server.query('SELECT name FROM garden.plants', nameOfDatabase(url));
  assert.deepEqual(rows, [{ name: 'Alder' }]);
});

async function behindPooler(t: TestContext, url: string, parameters = '') {
  const { url: pooled } = await startPgBouncer(t, url);
  const { plantsUrl } = await startServer(t, `${pooled}${parameters}`, oneThread);
  const other = new pg.Client({ connectionString: pooled });
  other.on('error', () => undefined);
  await other.connect();
  t.after(() => other.end());
  return { plantsUrl, other };
}
