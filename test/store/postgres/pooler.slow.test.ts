import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import pg from 'pg';
import { diagnose } from '../../helpers/diagnosis.ts';
import { lacksPgBouncer, startPooler } from '../../helpers/poolers.ts';
import { nameOfDatabase, sharedPostgres } from '../../helpers/postgres.ts';
import { makeStore } from '../../helpers/postgres-connection.ts';
import { create, oneThread, startServer } from '../../helpers/program.ts';
import { done, on, runHere } from '../../helpers/run-here.ts';

const server = await sharedPostgres({ after });
await server.query('CREATE ROLE stranger');

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
  'SET ROLE stranger',
  'SET SESSION AUTHORIZATION stranger',
];

test('a plant is stored as it was sent, whatever another client of a pooler has left in the session, and this client finds its settings as they were', async (t) => {
  if (lacksPgBouncer(t)) return;
  const url = await server.makeDatabase();
  const { pooled, other } = await behindPooler(t, url);
  const { plantsUrl, stderr } = await startServer(t, pooled, oneThread);
  assert.match(stderr(), /at most 9 connections to the database, through PgBouncer/);
  const plants = left.map((_, id) => ({ id, name: 'Ålder', ...(id % 2 && { tag: 'tree' }) }));
  const settings = async () =>
    (await other.query("SELECT name, setting FROM pg_settings WHERE source <> 'override'")).rows;
  const before = await settings();
  assert.equal((await create(plantsUrl, plants[0] ?? {})).status, 200);
  assert.deepEqual(await settings(), before);
  assert.deepEqual((await other.query('SELECT name FROM pg_prepared_statements')).rows, []);

  for (const [id, statement] of left.entries()) {
    await other.query(statement);
    const reply = await create(plantsUrl, plants[id] ?? {});
    assert.equal(reply.status, 200, statement);
  }
  const rows = await server.query('SELECT id::int, name, tag FROM plants ORDER BY id', url);
  const stored = plants.map((plant) => ({ tag: null, ...plant }));
  assert.deepEqual(rows, stored);
});

test('a command and doctor act in the role that the operator has set, and in none that another client of a pooler has left', async (t) => {
  if (lacksPgBouncer(t)) return;
  const url = await server.makeDatabase();
  const name = nameOfDatabase(url);
  await server.query(`CREATE ROLE pooled; ALTER DATABASE ${name} OWNER TO pooled;
    ALTER ROLE postgres IN DATABASE ${name} SET role = pooled`);
  const { pooled, other } = await behindPooler(t, url);
  await makeStore(pooled);
  await other.query('SET ROLE stranger');
  await done('token', 'create', 'app', ...on(pooled));
  const { lines } = await diagnose(pooled);
  assert.equal(lines['role'], 'ok pooled has the privileges that the service needs');
  assert.match(lines['test write'] ?? '', /^ok /);
});

test('a schema that the URL names holds the store, although the pooler drops the parameter', async (t) => {
  if (lacksPgBouncer(t)) return;
  const url = await server.makeDatabase();
  await server.query('CREATE SCHEMA garden', url);
  const { pooled } = await behindPooler(t, url);
  const garden = `${pooled}?options=-csearch_path%3Dgarden`;
  const { plantsUrl } = await startServer(t, garden, oneThread);
  assert.equal((await create(plantsUrl, { id: 1, name: 'Alder' })).status, 200);
  const rows = await server.query('SELECT name FROM garden.plants', url);
  assert.deepEqual(rows, [{ name: 'Alder' }]);
});

test('a pooler is named by doctor, and refused by each command if it ends transactions', async (t) => {
  if (lacksPgBouncer(t)) return;
  const url = await server.makeDatabase();
  const { url: pooled } = await startPooler(t, 'pgbouncer', url);
  const { stdout } = await runHere(['doctor', '--json', '--store', pooled]);
  assert.match(stdout, /to PostgreSQL [0-9.]+ through PgBouncer at 127/);

  const { url: cut } = await startPooler(t, 'pgbouncer', url, { mode: 'statement' });
  const says =
    /: PgBouncer takes no transactions \(.*statement pool.*\); set pool_mode = transaction /;
  for (const words of ['serve', 'import -', 'token create ann', 'plants count', 'export', 'verify'])
    assert.match((await runHere([...words.split(' '), '--store', cut])).stderr, says, words);
});

test('a pooler that refuses the parameter of the URL is named with the setting that lets it in', async (t) => {
  if (lacksPgBouncer(t)) return;
  const { url } = await startPooler(t, 'pgbouncer', await server.makeDatabase(), {
    ignored: 'extra_float_digits',
  });
  const store = `${url}?options=-csearch_path%3Dpublic`;
  const says = /unsupported startup parameter.* set ignore_startup_parameters = options/;
  for (const command of ['doctor', 'serve']) {
    const { stdout, stderr } = await runHere([command, '--store', store]);
    assert.match(stdout + stderr, says);
  }
});

async function behindPooler(t: TestContext, url: string) {
  const { url: pooled } = await startPooler(t, 'pgbouncer', url);
  const other = new pg.Client({ connectionString: pooled });
  other.on('error', () => undefined);
  await other.connect();
  t.after(() => other.end());
  return { pooled, other };
}
