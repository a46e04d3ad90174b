import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { pause } from '../helpers/pause.ts';
import { nameOfDatabase, startPostgres } from '../helpers/postgres.ts';
import { create, oneThread, type RunningServer, startServer } from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';
import { storedToken } from '../helpers/stored-token.ts';

const server = await startPostgres({ after });
const withPassword = (url: string) => url.replace('//postgres@', '//postgres:open-sesame@');
const url = withPassword(await server.makeDatabase());
const node = await startServer({ after }, url);

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: what is in it, the tests say.
  readonly body: any;
}

async function ask(
  { opsUrl }: RunningServer,
  path: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const reply = await fetch(`${opsUrl}${path}`, { headers });
  const text = await reply.text();
  return { status: reply.status, body: text.startsWith('{') ? JSON.parse(text) : text };
}

/** Asks until it is so. */
async function until(
  asking: () => Promise<Answer>,
  isSo: (answer: Answer) => boolean,
): Promise<Answer> {
  const signal = AbortSignal.timeout(60_000);
  for (;;) {
    const answer = await asking();
    if (isSo(answer)) return answer;
    await pause(signal);
  }
}

/** @returns the headers of an operator who has signed in */
async function signIn({ opsUrl }: RunningServer, token: string): Promise<Record<string, string>> {
  const reply = await fetch(`${opsUrl}api/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  assert.equal(reply.status, 200);
  return { Cookie: /^[^;]+/.exec(reply.headers.get('Set-Cookie') ?? '')?.[0] ?? '' };
}

async function refusalOf({ plantsUrl }: RunningServer, name = 'Alder'): Promise<Answer> {
  const reply = await create(plantsUrl, { id: 1, name });
  return { status: reply.status, body: await reply.json() };
}

/** What monitoring/ shows of a store in files, and of one in a database. */
const ofFiles = [
  'plant_store_log_bytes',
  'plant_store_disk_free_bytes',
  'plant_store_disk_low',
  'plant_store_checkpoint_duration_seconds_bucket',
];
const ofOthers = [
  'plant_store_last_backup_age_seconds',
  'plant_store_last_backup_missing_plants',
  'plant_store_certificate_expires_seconds',
  'plant_store_issuer_keys_read_seconds',
  'plant_store_token_refusals_total',
  'plant_store_token_expires_seconds',
  'plant_store_token_old_secret_expires_seconds',
  'plant_store_token_old_secret_last_used_seconds',
  'plant_store_backup_failed',
];

test('the metrics have what there is of a database and nothing else, and the dashboard and the alerts know both', async () => {
  await create(node.plantsUrl, { id: 1, name: 'Alder' });
  const { body } = await until(
    () => ask(node, 'metrics'),
    ({ body: text }) =>
      [/^plant_store_plants 1$/m, /^plant_store_ready 1$/m, /^plant_store_token_creates/m].every(
        (line) => line.test(text),
      ),
  );

  assert.match(body, /^plant_store_database_bytes [1-9][0-9]+$/m);
  assert.match(body, /^plant_store_database_connections [1-9]$/m);
  assert.match(body, /^plant_store_commit_duration_seconds_count 1$/m);
  const known = new Set([...body.matchAll(/^([a-z_]+)(?:\{.*\})? \S+$/gm)].map(([, name]) => name));
  for (const name of ofFiles) assert(!known.has(name), name);
  for (const file of ['grafana-dashboard.json', 'alerts.yaml']) {
    const content = readFileSync(new URL(`../../monitoring/${file}`, import.meta.url), 'utf8');
    const named = new Set(content.match(/\b(plant_store|process)_[a-z_]+/g));
    assert.deepEqual(
      [...named].filter((name) => !known.has(name) && ![...ofFiles, ...ofOthers].includes(name)),
      [],
      file,
    );
  }
});

test('who signs in at one node is known at the other, finds plants and makes tokens, and is signed out when his is revoked', async (t) => {
  const url = await server.makeDatabase();
  const token = await storedToken(url, 'alice', { role: 'operate' });
  const [one, other] = [await startServer(t, url), await startServer(t, url)];
  const secret = (await signIn(one, token))['Cookie']?.split('=')[1];
  const operator = { Cookie: `plant_store_session_${new URL(other.opsUrl).port}=${secret}` };
  await create(
    one.plantsUrl,
    '{"id":9223372036854775807,"name":"Wollemia","tag":"Wollemia nobilis"}',
  );

  const wollemia = { id: '9223372036854775807', name: 'Wollemia', tag: 'Wollemia nobilis' };
  await create(one.plantsUrl, { id: 5, name: 'Ginkgo' });
  const search = async (query: string) =>
    (await ask(other, `api/plants?${query}`, operator)).body.plants;
  const [{ createdAt, ...found }] = await search('name=llem');
  assert.deepEqual(found, { ...wollemia, createdBy: 'environment' });
  const names = async (query: string) =>
    (await search(query)).map(({ name }: { name: string }) => name);
  assert.deepEqual(await names('order=newest'), ['Ginkgo', 'Wollemia']);
  assert.deepEqual(await names(`name=WOLL&since=${createdAt}`), ['Wollemia']);
  assert.deepEqual(await names('id=9223372036854775807'), ['Wollemia']);
  const made = await fetch(`${other.opsUrl}api/tokens`, {
    method: 'POST',
    headers: { ...operator, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'app', role: 'create', expiresInDays: 1 }),
  });
  const bearer = { Authorization: `Bearer ${((await made.json()) as { token: string }).token}` };
  await until(
    async () => ({
      status: (await create(one.plantsUrl, { id: 1, name: 'Alder' }, bearer)).status,
      body: '',
    }),
    ({ status }) => status === 200,
  );
  assert.equal((await runHere(['token', 'revoke', 'alice', '--store', url])).code, 0);
  assert.equal((await ask(other, 'api/overview', operator)).status, 401);
});

test('while the database is down, operators are told so at once, and the metrics have what the process knows; the log has a line of its begin and one of its end', async (t) => {
  const own = await startPostgres(t);
  const url = withPassword(await own.makeDatabase());
  const node = await startServer(t, url, oneThread);
  const operator = await signIn(node, await storedToken(url, 'alice', { role: 'operate' }));
  await until(
    () => ask(node, 'readyz'),
    ({ status }) => status === 200,
  );

  await own.kill();

  assert.equal((await refusalOf(node)).status, 503);
  await assertAway(
    node,
    operator,
    /^the last test write has failed: .*ECONNREFUSED.*; the last stored test write was \d+\.\d s ago$/,
  );
  assert.match((await ask(node, 'metrics')).body, /^plant_store_database_connections 0$/m);
  await until(
    () => refusalOf(node),
    ({ body }) => body.message.startsWith('The token cannot be checked now'),
  );
  await own.start();
  await until(
    () => ask(node, 'readyz'),
    ({ status }) => status === 200,
  );
  assert.equal((await ask(node, 'api/overview', operator)).status, 200);
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
  assert.match((await ask(node, 'metrics')).body, /^plant_store_tokens\{state="valid"\} 1$/m);
});

test('the reply to a failed create never quotes a plant, also if a trigger of the database does', async (t) => {
  const url = await server.makeDatabase();
  const node = await startServer(t, url, oneThread);
  await server.query(
    `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'no % here', NEW.name; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION refuse()`,
    nameOfDatabase(url),
  );

  const { body } = await refusalOf(node, 'Hemlock');
  assert.equal(body.error, 50301);
  assert(!body.message.includes('Hemlock'));
  await node.logged((log) => log.includes('503 with code 50301: a trigger or a function'));
  await node.logged((log) => log.includes('no Hemlock here'));
});

test('while the database hangs, operators are answered within seconds', async (t) => {
  const own = await startPostgres(t);
  const url = await own.makeDatabase();
  const node = await startServer(t, url, [...oneThread, '--commit-timeout', '1s']);
  const operator = await signIn(node, await storedToken(url, 'alice', { role: 'operate' }));
  await until(
    () => ask(node, 'readyz'),
    ({ status }) => status === 200,
  );
  own.pause();
  await assertAway(node, operator, /the last stored test write was \d+\.\d s ago$/);
  own.resume();
  await until(
    () => ask(node, 'readyz'),
    ({ status }) => status === 200,
  );
});

async function assertAway(
  node: RunningServer,
  operator: Record<string, string>,
  says: RegExp,
): Promise<void> {
  const { body } = await until(
    () => quick(node, 'readyz'),
    ({ status }) => status === 503,
  );
  assert.deepEqual(
    body.checks
      .filter(({ level }: { level: string }) => level === 'error')
      .map(({ name }: { name: string }) => name),
    ['writes'],
  );
  assert.match(body.checks[0].says, says);
  assert.equal((await quick(node, 'livez')).status, 200);
  const metrics = await quick(node, 'metrics', 2_000);
  assert.equal(metrics.status, 200);
  assert.match(metrics.body, /^plant_store_ready 0$/m);
  assert.match(metrics.body, /^plant_store_queue_plants 0$/m);
  assert.doesNotMatch(metrics.body, /plant_store_tokens/);
  const overview = await ask(node, 'api/overview', operator);
  assert.deepEqual([overview.status, overview.body.error], [503, 50301]);
  assert.match(overview.body.message, /^The store cannot do this now: /);
}

async function quick(node: RunningServer, path: string, withinMs = 1_000): Promise<Answer> {
  const startedMs = performance.now();
  const answer = await ask(node, path);
  const tookMs = performance.now() - startedMs;
  assert(tookMs < withinMs, `${path} took ${tookMs} ms`);
  return answer;
}
