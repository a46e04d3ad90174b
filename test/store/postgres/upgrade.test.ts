import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, type TestContext, test } from 'node:test';
import { Client } from 'pg';
import { storeLocation } from '../../../src/cli/flags/store-location.ts';
import { limits } from '../../../src/limits.ts';
import { engineOf, postgresEngine } from '../../../src/store/engines.ts';
import { pause } from '../../helpers/pause.ts';
import { nameOfDatabase, sharedPostgres, untilRow } from '../../helpers/postgres.ts';
import { locationOf } from '../../helpers/postgres-connection.ts';
import { create, oneThread, runProgram, startInTest, startServer } from '../../helpers/program.ts';
import { done, on, refused, runHere } from '../../helpers/run-here.ts';

const database = await sharedPostgres({ after });

const dump = readFileSync(new URL('../../data/store-1.1.0.sql', import.meta.url), 'utf8');

/** The store that version 1.1.0 has made. */
async function oldStore(): Promise<string> {
  const url = await database.makeDatabase();
  await database.query(dump, nameOfDatabase(url));
  return url;
}

test('a store of version 1.1.0 is upgraded once by a node and a command that begin at once, and loses nothing', async (t) => {
  const url = await oldStore();
  const named = "UPDATE tokens SET name = 'environment' WHERE name = 'old'";
  await database.query(named, nameOfDatabase(url));
  const [{ plantsUrl }] = await Promise.all([
    startServer(t, url, oneThread),
    done('upgrade', ...on(url)),
  ]);
  assert.equal((await create(plantsUrl, { id: 1, name: 'Alder', tag: 'Alnus' })).status, 200);
  const limited = ['token', 'update', 'greenhouse', '--rate', '1/s', '--store', url];
  assert.equal((await runHere(limited)).code, 0);
  const { stdout } = await runHere(['token', 'list', '--json', '--store', url]);
  assert.match(stdout, /"name":"greenhouse".*"rate":"1\/s","burst":1\}/);
  assert.match(stdout, /"name":"environment \(token\)"/);
});

test('a store of version 2.0.0 gets an identity, which stays', async () => {
  const url = await database.makeDatabase();
  const run = async (...args: string[]) => (await done(...args, ...on(url))).stdout;
  const identity = async () => JSON.parse(await run('verify', '--json')).identity;
  await (await engineOf(storeLocation(url, {})).open({ callMs: 10_000, mayMake: true })).close();
  for (const statement of [
    'ALTER TABLE plant_store DROP COLUMN identity, DROP COLUMN decided_at, DROP COLUMN restored',
    'UPDATE plant_store SET schema_version = 10 WHERE id = 2',
  ])
    await database.query(statement, nameOfDatabase(url));
  assert.equal(await identity(), undefined);
  await run('upgrade');
  const made = await identity();
  assert.match(made, /^[0-9a-f]{32}$/);
  await run('upgrade');
  assert.equal(await identity(), made);
});

test('until then commands that read work, and commands that write say what to do', async () => {
  const url = await oldStore();
  assert.match((await runHere(['token', 'list', '--store', url])).stdout, /^greenhouse +create/m);
  assert.equal((await runHere(['plants', 'count', '--store', url])).stdout, '22\n');
  assert.match((await runHere(['verify', '--store', url])).stdout, /^plants +22$/m);
  const says =
    /of an earlier plant-store \(schema 1\); "plant-store upgrade --store [^"]+" upgrades it/;
  await refused(says, 'token', 'create', 'other', ...on(url));
});

test('a store that was made between two releases is refused by name', async () => {
  const url = await oldStore();
  await database.query('UPDATE plant_store SET schema_version = 5', nameOfDatabase(url));
  const { code, stderr } = await runHere(['serve', '--port', '0', '--store', url]);
  assert.equal(code, 1);
  assert.match(stderr, /was made between two releases \(schema 5\).*export the plants/);
});

test('a role that does not own the tables is told how the owner upgrades them, and creates plants when that is done', async () => {
  const url = await oldStore();
  const name = nameOfDatabase(url);
  for (const statement of [
    'CREATE ROLE visitor LOGIN',
    'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO visitor',
  ])
    await database.query(statement, name);
  const asVisitor = new URL(url);
  asVisitor.username = 'visitor';
  const { code, stderr } = await runHere(['serve', '--port', '0', '--store', `${asVisitor}`]);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /cannot be changed \(must be owner of table tokens\); run "plant-store upgrade" with the role that owns the tables/,
  );
  assert.match(
    (await runProgram(['upgrade', '--store', url])).stderr,
    /"schema":1,.*upgrading.*"schema":1,.*"the store has been upgraded"}\n.*"the store is of version \d.*"}\n$/s,
  );
  await using store = await engineOf(locationOf(`${asVisitor}`)).open({ callMs: 10_000 });
  const alder = { id: 1n, name: 'Alder', tag: 'Alnus', createdBy: 0 };
  assert.deepEqual(await store.createPlants([alder]), ['same']);
});

test('an index that a cut upgrade has left is built again, beside creates', async () => {
  const url = await oldStore();
  const query = (text: string) => database.query(text, nameOfDatabase(url));
  await query('CREATE INDEX plants_newest ON plants (created_at, id)');
  const index = "indexrelid = 'plants_newest'::regclass";
  await query(`UPDATE pg_index SET indisvalid = false WHERE ${index}`);
  assert.equal((await runHere(['upgrade', '--store', url])).code, 0);
  assert.deepEqual(await query(`SELECT indisvalid FROM pg_index WHERE ${index}`), [
    { indisvalid: true },
  ]);
});

test('an upgrade names the session for whose snapshot the build of its index would wait', async (t) => {
  const url = await oldStore();
  const dump = await clientOn(t, url, 'pg_dump');
  hurry(t);
  const age = `${limits.postgres.upgradePauseMs} ms`;
  await dump.query(`BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT id FROM plants;
    SELECT pg_sleep_until(now() + interval '${age}')`);
  const { code, stderr } = await runHere(['upgrade', ...on(url)]);
  assert.equal(code, 1);
  assert.match(stderr, /has not been upgraded within 1 s.* in use by process \d+ \(pg_dump, user/);
  await dump.query('COMMIT');
  assert.equal((await runHere(['upgrade', '--store', url])).code, 0);
});

test('an upgrade tells for which session that has just begun the build of its index waits', async (t) => {
  const url = await oldStore();
  // Holds the build at its begin, when it has looked for sessions already.
  const holder = await clientOn(t, url, 'holder');
  await holder.query('BEGIN; LOCK plants IN SHARE MODE');
  const { promise: told, resolve } = Promise.withResolvers<string>();
  const upgrade = postgresEngine(locationOf(url)).upgrade(resolve);
  const held = `SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'CREATE INDEX %'`;
  await untilRow(database, held, url);
  const dump = await clientOn(t, url, 'pg_dump');
  await dump.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT id FROM plants');
  await holder.query('COMMIT');
  assert.match(`${await Promise.race([told, upgrade])}`, /^process \d+ \(pg_dump, user postgres, /);
  await dump.query('COMMIT');
  assert.equal(await upgrade, undefined);
});

test('while a session reads the tokens, an upgrade gives way to other readers, and names the session; when the session has ended, the store is upgraded', async (t) => {
  const url = await oldStore();
  const dump = await clientOn(t, url, 'pg_dump');
  await dump.query('BEGIN');
  const { rows } = await dump.query('SELECT pg_backend_pid() AS pid FROM tokens');
  const named = new RegExp(`in use by process ${rows[0].pid} \\(pg_dump, user postgres, .*\\)`);

  hurry(t);
  const start = runHere(['serve', '--port', '0', ...on(url)]);
  const reader = await clientOn(t, url, 'an old node');
  // Much longer than a try, also on a busy machine, and shorter than a create may take.
  await reader.query("SET lock_timeout = '3500ms'");
  let isOver = false;
  void start.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await reader.query('SELECT id FROM tokens');
    await pause();
  }
  const { code, stderr } = await start;
  assert.equal(code, 1);
  assert.match(stderr, named);
  assert.match(stderr, /has not been upgraded within 1 s, and is as it was/);
  assert.doesNotMatch(stderr, /unknown/);

  await dump.query('COMMIT');
  await done('upgrade', ...on(url));
});

test('a signal to stop ends a start during its upgrade at once', async (t) => {
  const url = await oldStore();
  const dump = await clientOn(t, url, 'pg_dump');
  await dump.query('BEGIN; SELECT FROM tokens');
  const { child, ended } = startInTest(t, ['serve', '--port', '0', ...on(url)]);
  const waits = `SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  await untilRow(database, waits, url);
  child.kill('SIGTERM');
  assert.match((await ended).stderr, /SIGTERM has stopped the start before its end\n$/);
  assert.equal(child.signalCode, 'SIGTERM');
});

/** Lets an upgrade give up soon. */
function hurry(t: TestContext): void {
  t.mock.property(limits.postgres, 'upgradePauseMs', 100 as typeof limits.postgres.upgradePauseMs);
  t.mock.property(limits.postgres, 'upgradeMs', 1_000 as typeof limits.postgres.upgradeMs);
}

async function clientOn(t: TestContext, url: string, application_name: string): Promise<Client> {
  const client = new Client({ connectionString: url, application_name });
  await client.connect();
  t.after(() => client.end());
  return client;
}
