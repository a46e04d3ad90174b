import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import pg from 'pg';
import { limits } from '../../../src/limits.ts';
import type { Readiness } from '../../../src/ops/contract.ts';
import { assertMonitored, metricNames } from '../../helpers/monitoring.ts';
import { type Answer, ask, signIn, untilReady } from '../../helpers/operators.ts';
import { pause, until, untilInForce } from '../../helpers/pause.ts';
import { startPostgres, untilRow } from '../../helpers/postgres.ts';
import { makeStore } from '../../helpers/postgres-connection.ts';
import {
  create,
  type RunningServer,
  runProgram,
  startImpatient,
  temporaryFolder,
} from '../../helpers/program.ts';
import { done, doneRecords, on } from '../../helpers/run-here.ts';
import { storedToken } from '../../helpers/stored-token.ts';
import { startProxy } from '../../helpers/tcp-proxy.ts';
import { underWay } from '../../helpers/under-way.ts';
import { plantsIn } from '../../torture/history/stored.ts';

/* Two nodes on one database, for all tests in their order. Beside others, faults.slow.test.ts. */

const database = await startPostgres({ after }, { log_lock_waits: 'on', deadlock_timeout: '20ms' });
const url = (await database.makeDatabase()).replace('//postgres@', '//postgres:open-sesame@');
const proxy = await startProxy({ after }, database.port);
const folders = [await temporaryFolder({ after }), await temporaryFolder({ after })];
const firstTokens = folders.map((folder) => join(folder, 'data', 'first-start.token'));

async function startNode(url: string, index: number): Promise<RunningServer> {
  const threads = ['--http-threads', `${1 + index}`];
  return startImpatient({ after }, url, threads, { FOLDER: folders[index] ?? '' });
}

async function clientOn(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  return client;
}

/** Finds a row if the given number of sessions wait for a lock. */
const waiting = (sessions: number, query = '') => `SELECT FROM pg_stat_activity
  WHERE wait_event_type = 'Lock' AND query LIKE '%${query}%' HAVING count(*) >= ${sessions}`;
const waitingInserts = (sessions: number) => waiting(sessions, 'INSERT INTO plants');

/** Locks an id by a transaction of another program, until the transaction ends. */
async function holdId(t: TestContext, id: number): Promise<pg.Client> {
  const client = await clientOn(url);
  t.after(() => client.end());
  await client.query('BEGIN');
  await client.query('INSERT INTO plants VALUES ($1, $2, NULL, 0, 0)', [id, 'held']);
  return client;
}

/** Lets both nodes come to the point at which they make the token, before either does. */
async function startBoth() {
  await makeStore(url);
  const client = await clientOn(url);
  await client.query('BEGIN; SELECT * FROM plant_store FOR UPDATE');
  const throughProxy = url.replace(`:${database.port}/`, `:${proxy.port}/`);
  const started = underWay(Promise.all([startNode(url, 0), startNode(throughProxy, 1)]));
  await untilRow(database, waiting(2));
  await client.query('COMMIT');
  await client.end();
  return started;
}

const nodes = await startBoth();
const [near, far] = nodes;
const file = firstTokens.find((path) => existsSync(path)) ?? assert.fail('no first token');
const bearer = { Authorization: `Bearer ${readFileSync(file, 'utf8').trim()}` };
const createOn = (node: RunningServer, plant: object) => create(node.plantsUrl, plant, bearer);
const statusOn = async (node: RunningServer, id: number) =>
  (await createOn(node, { id, name: 'Oak' })).status;

test('of two nodes that start at once on a database without tokens, one makes the first token, which both admit, and the other keeps no file', async () => {
  assert.match(near.stderr() + far.stderr(), /another node has made the first token/);
  const tokens = await doneRecords('token', 'list', ...on(url));
  assert.deepEqual(
    tokens.map(({ name }) => name),
    ['first-start'],
  );
  assert.equal(firstTokens.filter((path) => existsSync(path)).length, 1);
  for (const node of nodes) assert.equal(await statusOn(node, 1), 200);
});

test('a node whose folder cannot hold the first token says so', async (t) => {
  const folder = await temporaryFolder(t);
  writeFileSync(join(folder, 'data'), 'no folder');
  const empty = on(await database.makeDatabase());
  const { stderr } = await runProgram(['serve', '--port', '0', ...empty], { FOLDER: folder });
  assert.match(
    stderr,
    /cannot write the first token to data\/first-start\.token .*"plant-store token create NAME --store postgres:[^"]*" gives /,
  );
});

/** What monitoring/ shows of a store in files. */
const ofFiles = [
  'plant_store_log_bytes',
  'plant_store_disk_free_bytes',
  'plant_store_disk_low',
  'plant_store_checkpoint_duration_seconds',
];
const ofBackups = ['plant_store_last_backup_age_seconds', 'plant_store_last_backup_missing_plants'];

test('the metrics have what there is of a database and nothing else, and the dashboard and the alerts know both', async () => {
  const { body } = await until(
    () => ask(near, 'GET metrics'),
    ({ body: text }) =>
      [/^plant_store_plants 1$/m, /^plant_store_ready 1$/m, /^plant_store_token_creates/m].every(
        (line) => line.test(text),
      ),
  );

  assert.match(body, /^plant_store_database_bytes [1-9][0-9]+$/m);
  assert.match(body, /^plant_store_database_connections [1-9]$/m);
  assert.match(body, /^plant_store_commit_duration_seconds_count 1$/m);
  const known = metricNames(body);
  for (const name of ofFiles) assert(!known.has(name), name);
  assertMonitored([...known, ...ofFiles, ...ofBackups]);
});

test('who signs in at one node is known at the other, finds plants and makes tokens, and is signed out when his is revoked', async () => {
  const alice = await storedToken(url, 'alice', { role: 'operate' });
  const secret = (await signIn(near, { token: alice })).split('=')[1];
  const operator = { cookie: `plant_store_session_${new URL(far.opsUrl).port}=${secret}` };
  const wollemia = { id: '9223372036854775807', name: 'Wollemia', tag: 'Wollemia nobilis' };
  const sent = `{"id":${wollemia.id},"name":"Wollemia","tag":"Wollemia nobilis"}`;
  for (const plant of [sent, { id: 5, name: 'Ginkgo' }])
    await create(near.plantsUrl, plant, bearer);

  const search = async (query: string) =>
    (await ask(far, `GET api/plants?${query}`, operator)).body.plants;
  const [{ createdAt, ...found }] = await search('name=llem');
  assert.deepEqual(found, { ...wollemia, createdBy: 'first-start' });
  const names = async (query: string) =>
    (await search(query)).map(({ name }: { name: string }) => name);
  assert.deepEqual(await names('order=newest'), ['Ginkgo', 'Wollemia', 'Oak']);
  assert.deepEqual(await names(`name=WOLL&since=${createdAt}`), ['Wollemia']);
  assert.deepEqual(await names('id=9223372036854775807'), ['Wollemia']);
  const wish = { name: 'app', role: 'create', expiresInDays: 1 };
  const made = await ask(far, 'POST api/tokens', { ...operator, json: wish });
  const ofApp = { Authorization: `Bearer ${made.body.token}` };
  const send = () => create(near.plantsUrl, { id: 1, name: 'Oak' }, ofApp);
  await until(send, ({ status }) => status === 200);
  await done('token', 'revoke', 'alice', ...on(url));
  assert.equal((await ask(far, 'GET api/overview', operator)).status, 401);
});

test('neither the reply to a failed create nor the log quotes a plant, also if a trigger of the database does', async () => {
  const trigger = `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'no % here', NEW.name; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION refuse()`;
  await database.query(trigger, url);

  const { error, message } = await refusalOf(7, 'Hemlock');
  assert.equal(error, 50301);
  assert(!message.includes('Hemlock'));
  await near.logged((log) => log.includes('503 with code 50301: a trigger or a function'));
  assert.match(database.log(), /no Hemlock here/);
  assert(!near.stderr().includes('Hemlock'));
  await database.query('DROP TRIGGER refuse ON plants', url);
  // Of an outage, the log has the first reason: the next test begins another.
  await near.logged((log) => log.includes('creates are stored again after '));
});

test('while the database is down, operators are told so at once, and the metrics have what the process knows; the log has a line of its begin and one of its end', async () => {
  const bob = await storedToken(url, 'bob', { role: 'operate' });
  const operator = { cookie: await signIn(near, { token: bob }) };
  await untilReady(near);
  const begun = near.stderr().length;
  await database.kill();

  assert.equal((await refusalOf()).error, 50301);
  await assertAway(
    operator,
    /^the last test write has failed: .*ECONNREFUSED.*; the last stored test write was \d+\.\d s ago$/,
  );
  assert.match((await ask(near, 'GET metrics')).body, /^plant_store_database_connections 0$/m);
  await until(
    () => refusalOf(),
    ({ message }) => message.startsWith('The token cannot be checked now'),
  );
  await database.start();
  await untilReady(near);
  assert.equal((await ask(near, 'GET api/overview', operator)).status, 200);
  await near.logged((log) => log.slice(begun).includes('creates are stored again after '));
  const log = near.stderr().slice(begun);
  const ofOutage = log.split('\n').filter((line) => /"(error|warn)".* 50301|again/.test(line));
  assert.equal(ofOutage.length, 2, log);
  assert.match(ofOutage[0] ?? '', /"since":"2.* 50301: .*(terminat|cannot connect|cannot be read)/);
  assert.match(ofOutage[1] ?? '', /after \d+\.\d s; requests refused: [1-9]/);
  // An outage is no defect, and nothing of it is said twice, or by Node.
  assert.doesNotMatch(
    near.stderr(),
    /open-sesame|request refused|"stack"|\(node:|(ECONN[A-Z]+[^"]*): [^"]*\1/,
  );
  assert.match(
    (await ask(near, 'GET metrics')).body,
    /^plant_store_tokens\{state="valid"\} [1-9]$/m,
  );

  database.pause();
  await assertAway(operator, /the last stored test write was \d+\.\d s ago$/);
  database.resume();
  await untilReady(near);
});

test('two nodes that are sent the same ids in different orders never lock each other out, and one plant has each id', async (t) => {
  const statuses: Record<number, number> = {};
  const acknowledged = new Map<string, string>();
  const send = async (id: number, node: RunningServer): Promise<void> => {
    // Of every third plant each node is told something else.
    const name = id % 3 === 0 ? `plant ${id} of ${node.port}` : `plant ${id}`;
    const { status } = await createOn(node, { id, name });
    // A busy node may give up a create, or read its tokens too late.
    if (status === 503) return send(id, node);
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (status === 200) acknowledged.set(`${id}`, name);
  };

  const holder = await holdId(t, 10_045);
  const ids = Array.from({ length: 90 }, (_, index) => 10_000 + index);
  const orders = [ids, ids.toSorted((a, b) => (b % 13) - (a % 13))];
  const sent = nodes.flatMap((node, at) => orders[at]?.map((id) => send(id, node)) ?? []);
  // So that they do meet: until then, all that has come to a node gathers behind what waits.
  await untilRow(database, waitingInserts(nodes.length));
  await holder.query('ROLLBACK');
  await Promise.all(sent);

  assert.deepEqual(statuses, { 200: 30 + 2 * 60, 400: 30 });
  const stored = await plantsIn(url);
  for (const id of ids) assert.equal(stored.get(`${id}`)?.name, acknowledged.get(`${id}`));
  assert.doesNotMatch(database.log(), /deadlock detected/);
});

test('a create that waits for a lock for longer than a create may take gets 503, unless the node stood still and the database has stored it meanwhile', async (t) => {
  const holder = await holdId(t, 2);
  assert.equal(await statusOn(near, 2), 503);
  await holder.query('ROLLBACK');
  await until(
    () => statusOn(near, 2),
    (status) => status === 200,
  );

  // On a busy machine, the time of a create may pass before the node stands still.
  let id = 20;
  while (!(await isStoredMeanwhile(t, id))) assert((id += 1) < 30);
});

/**
 * Lets the node stand still from when its create waits for a lock until the time of the create has
 * passed, and the database go on. If the create is stored, and was not answered, it gets 200.
 */
async function isStoredMeanwhile(t: TestContext, id: number): Promise<boolean> {
  const holder = await holdId(t, id);
  const sentMs = performance.now();
  const reply = underWay(statusOn(near, id));
  await untilRow(database, waitingInserts(1));
  near.child.kill('SIGSTOP');
  await holder.query('ROLLBACK');
  while (performance.now() < sentMs + limits.store.commitMs) await pause();
  const stored = await database.query(`SELECT FROM plants WHERE id = ${id}`, url);
  const answer = await Promise.race([reply, 'none']);

  near.child.kill('SIGCONT');

  const isMeanwhile = stored.length > 0 && answer === 'none';
  const status = await reply;
  if (isMeanwhile) assert.equal(status, 200);
  return isMeanwhile;
}

test('a revoked token is refused by every node within 2 seconds, also by one that the database does not answer', async () => {
  const ofGreenhouse = { Authorization: `Bearer ${await storedToken(url, 'greenhouse')}` };
  const send = (node: RunningServer) => async () =>
    (await create(node.plantsUrl, { id: 1, name: 'Oak' }, ofGreenhouse)).status;
  // Each thread learns of it by itself.
  for (const node of nodes)
    await untilInForce(send(node), 401, 200, { inRow: 10, withinMs: 60_000 });

  proxy.swallow('replies');
  await done('token', 'revoke', 'greenhouse', ...on(url));

  await Promise.all([untilInForce(send(near), 200, 401), untilInForce(send(far), 200, 503)]);
});

async function refusalOf(id = 1, name = 'Oak') {
  const reply = await createOn(near, { id, name });
  return (await reply.json()) as { readonly error: number; readonly message: string };
}

async function assertAway(operator: { cookie: string }, says: RegExp): Promise<void> {
  const { body } = await until(
    () => quick('readyz'),
    ({ status, body }) => status === 503 && says.test(body.checks[0].says),
  );
  const failing = (body as Readiness).checks.filter(({ level }) => level === 'error');
  const names = failing.map(({ name }) => name);
  assert.deepEqual(names, ['writes']);
  assert.equal((await quick('livez')).status, 200);
  const metrics = await quick('metrics', 2_000);
  assert.equal(metrics.status, 200);
  assert.match(metrics.body, /^plant_store_ready 0$/m);
  assert.match(metrics.body, /^plant_store_queue_plants 0$/m);
  assert.doesNotMatch(metrics.body, /plant_store_tokens/);
  const overview = await ask(near, 'GET api/overview', operator);
  assert.deepEqual([overview.status, overview.body.error], [503, 50301]);
  assert.match(overview.body.message, /^The store cannot do this now: /);
}

/** An answer that waits for the database is late each time, on a busy machine another one may be. */
async function quick(path: string, withinMs = 1_000): Promise<Answer> {
  const timed = async () => {
    const startedMs = performance.now();
    return [await ask(near, `GET ${path}`), performance.now() - startedMs] as const;
  };
  const [answer] = await until(timed, ([, tookMs]) => tookMs < withinMs);
  return answer;
}
