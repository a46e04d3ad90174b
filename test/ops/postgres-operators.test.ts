import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Readiness } from '../../src/ops/contract.ts';
import { assertMonitored, metricNames } from '../helpers/monitoring.ts';
import { type Answer, ask, signIn } from '../helpers/operators.ts';
import { until } from '../helpers/pause.ts';
import { startPostgres } from '../helpers/postgres.ts';
import { create, oneThread, startServer } from '../helpers/program.ts';
import { done, on } from '../helpers/run-here.ts';
import { storedToken } from '../helpers/stored-token.ts';

const server = await startPostgres({ after });
const url = (await server.makeDatabase()).replace('//postgres@', '//postgres:open-sesame@');
/** For all tests but one, in their order, with an operator who has signed in. */
const node = await startServer({ after }, url, oneThread);
const token = await storedToken(url, 'alice', { role: 'operate' });
const operator = { cookie: await signIn(node, { token }) };

async function refusalOf(id = 1, name = 'Alder') {
  const reply = await create(node.plantsUrl, { id, name });
  return (await reply.json()) as { readonly error: number; readonly message: string };
}

const untilReady = () =>
  until(
    () => ask(node, 'GET readyz'),
    ({ status }) => status === 200,
  );

/** What monitoring/ shows of a store in files. */
const ofFiles = [
  'plant_store_log_bytes',
  'plant_store_disk_free_bytes',
  'plant_store_disk_low',
  'plant_store_checkpoint_duration_seconds_bucket',
];
const ofBackups = ['plant_store_last_backup_age_seconds', 'plant_store_last_backup_missing_plants'];

test('the metrics have what there is of a database and nothing else, and the dashboard and the alerts know both', async () => {
  await create(node.plantsUrl, { id: 1, name: 'Alder' });
  const { body } = await until(
    () => ask(node, 'GET metrics'),
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

test('who signs in at one node is known at the other, finds plants and makes tokens, and is signed out when his is revoked', async (t) => {
  const url = await server.makeDatabase();
  const token = await storedToken(url, 'alice', { role: 'operate' });
  const [one, other] = [await startServer(t, url, oneThread), await startServer(t, url, oneThread)];
  const secret = (await signIn(one, { token })).split('=')[1];
  const operator = { cookie: `plant_store_session_${new URL(other.opsUrl).port}=${secret}` };
  await create(
    one.plantsUrl,
    '{"id":9223372036854775807,"name":"Wollemia","tag":"Wollemia nobilis"}',
  );

  const wollemia = { id: '9223372036854775807', name: 'Wollemia', tag: 'Wollemia nobilis' };
  await create(one.plantsUrl, { id: 5, name: 'Ginkgo' });
  const search = async (query: string) =>
    (await ask(other, `GET api/plants?${query}`, operator)).body.plants;
  const [{ createdAt, ...found }] = await search('name=llem');
  assert.deepEqual(found, { ...wollemia, createdBy: 'environment' });
  const names = async (query: string) =>
    (await search(query)).map(({ name }: { name: string }) => name);
  assert.deepEqual(await names('order=newest'), ['Ginkgo', 'Wollemia']);
  assert.deepEqual(await names(`name=WOLL&since=${createdAt}`), ['Wollemia']);
  assert.deepEqual(await names('id=9223372036854775807'), ['Wollemia']);
  const wish = { name: 'app', role: 'create', expiresInDays: 1 };
  const made = await ask(other, 'POST api/tokens', { ...operator, json: wish });
  const bearer = { Authorization: `Bearer ${made.body.token}` };
  const send = () => create(one.plantsUrl, { id: 1, name: 'Alder' }, bearer);
  await until(send, ({ status }) => status === 200);
  await done('token', 'revoke', 'alice', ...on(url));
  assert.equal((await ask(other, 'GET api/overview', operator)).status, 401);
});

test('while the database is down, operators are told so at once, and the metrics have what the process knows; the log has a line of its begin and one of its end', async () => {
  await untilReady();
  await server.kill();

  assert.equal((await refusalOf()).error, 50301);
  await assertAway(
    /^the last test write has failed: .*ECONNREFUSED.*; the last stored test write was \d+\.\d s ago$/,
  );
  assert.match((await ask(node, 'GET metrics')).body, /^plant_store_database_connections 0$/m);
  await until(
    () => refusalOf(),
    ({ message }) => message.startsWith('The token cannot be checked now'),
  );
  await server.start();
  await untilReady();
  assert.equal((await ask(node, 'GET api/overview', operator)).status, 200);
  await node.logged((log) => log.includes('creates are stored again after '));
  const log = node.stderr();
  const ofOutage = log.split('\n').filter((line) => /"(error|warn)".* 50301|again/.test(line));
  assert.equal(ofOutage.length, 2, log);
  assert.match(ofOutage[0] ?? '', /"since":"2.* 50301: .*(terminat|cannot connect|cannot be read)/);
  assert.match(ofOutage[1] ?? '', /after \d+\.\d s; requests refused: [1-9]/);
  // An outage is no defect, and nothing of it is said twice, or by Node.
  assert.doesNotMatch(
    log,
    /open-sesame|request refused|"stack"|\(node:|(ECONN[A-Z]+[^"]*): [^"]*\1/,
  );
  assert.match((await ask(node, 'GET metrics')).body, /^plant_store_tokens\{state="valid"\} 1$/m);
});

test('neither the reply to a failed create nor the log quotes a plant, also if a trigger of the database does', async () => {
  await server.query(
    `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'no % here', NEW.name; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION refuse()`,
    url,
  );

  const { error, message } = await refusalOf(2, 'Hemlock');
  assert.equal(error, 50301);
  assert(!message.includes('Hemlock'));
  await node.logged((log) => log.includes('503 with code 50301: a trigger or a function'));
  assert.match(server.log(), /no Hemlock here/);
  assert(!node.stderr().includes('Hemlock'));
  await server.query('DROP TRIGGER refuse ON plants', url);
});

test('while the database hangs, operators are answered within seconds', async () => {
  await untilReady();
  server.pause();
  await assertAway(/the last stored test write was \d+\.\d s ago$/);
  server.resume();
  await untilReady();
});

async function assertAway(says: RegExp): Promise<void> {
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
  const overview = await ask(node, 'GET api/overview', operator);
  assert.deepEqual([overview.status, overview.body.error], [503, 50301]);
  assert.match(overview.body.message, /^The store cannot do this now: /);
}

/** An answer that waits for the database is late each time, on a busy machine another one may be. */
async function quick(path: string, withinMs = 1_000): Promise<Answer> {
  const timed = async () => {
    const startedMs = performance.now();
    return [await ask(node, `GET ${path}`), performance.now() - startedMs] as const;
  };
  const [answer] = await until(timed, ([, tookMs]) => tookMs < withinMs);
  return answer;
}
