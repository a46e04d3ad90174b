import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { Client } from 'pg';
import { sabotaging } from '../helpers/faults.ts';
import { nameOfDatabase, startPostgres } from '../helpers/postgres.ts';
import {
  create,
  oneThread,
  runProgram,
  startProgram,
  startServer,
  takesNoCode,
} from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';

const database = await startPostgres({ after });

const toVersion1 = [
  'ALTER TABLE tokens DROP COLUMN rate_per_day, DROP COLUMN burst, DROP COLUMN made_by, DROP COLUMN revoked_by',
  'DROP TABLE jobs',
  'DROP TABLE history',
  'UPDATE plant_store SET schema_version = 1',
];

/** A store with one plant and one token, as version 1.1.0 has made it. */
async function oldStore(changes = toVersion1): Promise<string> {
  const url = await database.makeDatabase();
  const server = await startServer({ after }, url, oneThread);
  assert.equal((await create(server.plantsUrl, { id: 1, name: 'Alder' })).status, 200);
  assert.equal((await runHere(['token', 'create', 'app', '--store', url])).code, 0);
  await server.stop();
  for (const statement of changes) await database.query(statement, nameOfDatabase(url));
  return url;
}

test('a store of version 1.1.0 is upgraded by the first of two nodes, and loses nothing', async (t) => {
  const url = await oldStore();
  const nodes = await Promise.all([1, 2].map(() => startServer(t, url, oneThread)));
  for (const { plantsUrl } of nodes)
    assert.equal((await create(plantsUrl, { id: 1, name: 'Alder' })).status, 200);
  const limited = ['token', 'update', 'app', '--rate', '1/s', '--store', url];
  assert.equal((await runHere(limited)).code, 0);
  const { stdout } = await runHere(['token', 'list', '--json', '--store', url]);
  assert.match(stdout, /"name":"app".*"rate":"1\/s","burst":1\}/);
});

test('the history of schema 4 is kept, and from then on has the codes of the refusals', async (t) => {
  const url = await oldStore([
    'ALTER TABLE history DROP COLUMN refusals, DROP COLUMN refused_senders, DROP COLUMN stopped_at',
    'UPDATE plant_store SET schema_version = 4',
  ]);
  const server = await startServer(t, url, oneThread);
  assert.equal((await create(server.plantsUrl, { id: 1 })).status, 400);
  await server.stop();
  // A minute may end between the create and the refusal.
  const sums =
    "SELECT sum(created)::int, max(refusals) FILTER (WHERE refusals <> '{}') FROM history";
  assert.deepEqual(await database.query(sums, nameOfDatabase(url)), [
    { sum: 1, max: '{"40001":1}' },
  ]);
});

test('a token of schema 5 keeps its rate, and names no maker', async (t) => {
  const url = await oldStore([
    "UPDATE tokens SET rate_per_day = 86400, burst = 7 WHERE name = 'app'",
    'ALTER TABLE tokens DROP COLUMN made_by, DROP COLUMN revoked_by',
    'ALTER TABLE history DROP COLUMN stopped_at',
    'UPDATE plant_store SET schema_version = 5',
  ]);
  const list = async () => (await runHere(['token', 'list', '--json', '--store', url])).stdout;
  const old =
    /"name":"app","role":"create","state":"valid","createdAt":"[^"]+","rate":"1\/s","burst":7\}/;
  assert.match(await list(), old);
  await startServer(t, url, oneThread);
  assert.match(await list(), old);
  assert.equal((await runHere(['token', 'revoke', 'app', '--store', url])).code, 0);
  assert.match(await list(), /"name":"app".*"revokedBy":"command line \(.+\)"/);
});

test('until then commands that read work, and commands that write say what to do', async () => {
  const url = await oldStore();
  assert.match((await runHere(['token', 'list', '--store', url])).stdout, /^app +create +valid/m);
  assert.match((await runHere(['plants', 'list', '--store', url])).stdout, /"name":"Alder"/);
  const { code, stderr } = await runHere(['token', 'create', 'other', '--store', url]);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /of an earlier plant-store \(schema 1\); "plant-store serve --store [^"]+" upgrades it/,
  );
});

test('a role that does not own the tables is told which role must start the service once', async () => {
  const url = await oldStore();
  const name = nameOfDatabase(url);
  for (const statement of [
    'CREATE ROLE visitor LOGIN',
    'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO visitor',
  ])
    await database.query(statement, name);
  const asVisitor = new URL(url);
  asVisitor.username = 'visitor';
  const { code, stderr } = await runProgram(['serve', '--port', '0', '--store', `${asVisitor}`]);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /cannot be changed \(must be owner of table tokens\); start the service once with the role that owns the tables/,
  );
});

test('while a session reads the tokens, an upgrade gives way to other readers, and names the session; when the session has ended, the store is upgraded', {
  skip: takesNoCode,
}, async (t) => {
  const url = await oldStore();
  const dump = await clientOn(t, url, 'pg_dump');
  await dump.query('BEGIN');
  const { rows } = await dump.query('SELECT pg_backend_pid() AS pid FROM tokens');
  const named = new RegExp(`in use by process ${rows[0].pid} \\(pg_dump, user postgres, .*\\)`);

  const start = runProgram(
    ['serve', '--port', '0', '--store', url],
    sabotaging('upgrades are given up soon'),
  );
  const reader = await clientOn(t, url, 'an old node');
  // Much longer than a try, and much shorter than a create may take.
  await reader.query("SET lock_timeout = '1500ms'");
  let isOver = false;
  void start.finally(() => {
    isOver = true;
  });
  while (!isOver) await reader.query('SELECT id FROM tokens');
  const { code, stderr } = await start;
  assert.equal(code, 1);
  assert.match(stderr, named);
  assert.match(stderr, /has not been upgraded within 1 s, and is as it was/);
  assert.doesNotMatch(stderr, /unknown/);

  const starting = startProgram(['serve', '--port', '0', '--store', url]);
  t.after(() => starting.kill('SIGKILL'));
  let log = '';
  for await (const chunk of starting.stderr.setEncoding('utf8')) {
    log += chunk;
    if (named.test(log)) await dump.query('COMMIT');
    if (log.includes('"ready"')) break;
  }
  assert.match(log, /"from":1,"to":7,.*upgrading.*"from":1,"to":7,.*has been upgraded/s);
});

async function clientOn(t: TestContext, url: string, application_name: string): Promise<Client> {
  const client = new Client({ connectionString: url, application_name });
  await client.connect();
  t.after(() => client.end());
  return client;
}
