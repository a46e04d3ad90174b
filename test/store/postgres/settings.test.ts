import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openPostgresStore } from '../../../src/store/postgres/store.ts';
import { diagnose } from '../../helpers/diagnosis.ts';
import { nameOfDatabase, sharedPostgres } from '../../helpers/postgres.ts';
import { locationOf, makeStore } from '../../helpers/postgres-connection.ts';
import {
  create,
  oneThread,
  type RunningServer,
  startServer,
  temporaryFolder,
} from '../../helpers/program.ts';
import { done, doneRecords, on, refused, runHere } from '../../helpers/run-here.ts';

const server = await sharedPostgres({ after });

/**
 * All that a session can set, at one end of the range, and texts. Without what fills the log of the
 * server alone, what a transaction begins with, and read-only, in which there is no store.
 */
const unusual = (end: 'min' | 'max') => `SELECT name, value
  FROM pg_settings, LATERAL array_remove(enumvals, setting) AS others,
    LATERAL (SELECT CASE vartype WHEN 'bool' THEN (NOT setting::boolean)::text
      WHEN 'enum' THEN others[${end === 'min' ? 1 : 'cardinality(others)'}]
      ELSE ${end}_val END AS value) AS chosen
  WHERE context IN ('user', 'superuser') AND value IS NOT NULL AND name !~
    '^(log_|trace_|debug_print|max_stack_depth|(default_)?transaction_read|transaction_[di])'
  UNION ALL VALUES ('datestyle', 'SQL, DMY'), ('max_stack_depth', '100'), ('timezone', 'Asia/Kathmandu'),
    ('restrict_nonsystem_relation_kind', 'view, foreign-table')`;

async function unusualDatabase(end: 'min' | 'max'): Promise<string> {
  const url = await server.makeDatabase();
  const settings = await server.query(unusual(end));
  const change = `ALTER DATABASE ${nameOfDatabase(url)} SET`;
  await server.query(settings.map(({ name, value }) => `${change} ${name} = '${value}'`).join(';'));
  return url;
}

test('plants and tokens are what they were, whatever the settings of the database', async (t) => {
  const [url, copy] = [await unusualDatabase('min'), await unusualDatabase('max')];
  const plants = [
    { id: 1, name: 'Alder' },
    { id: 2, name: 'NULL', tag: 'null' },
    { id: 3, name: 'a\\b"c\'d{,}\\x41', tag: '' },
    { id: 4, name: '9223372036854775807', tag: '\\N' },
  ];
  const createAll = async ({ plantsUrl }: RunningServer) => {
    for (const plant of plants) assert.equal((await create(plantsUrl, plant)).status, 200);
  };
  const node = await startServer(t, url, oneThread);
  for (const _ of ['created', 'stored already']) await createAll(node);
  await done('token', 'create', 'app', ...on(url));

  await done('copy', url, copy);
  await using store = await openPostgresStore(locationOf(copy), { callMs: 10_000, mayMake: false });
  const sent = plants.map(({ id, name, tag }) => ({ id: BigInt(id), name, tag, createdBy: 0 }));
  assert.deepEqual(new Set(await store.createPlants(sent)), new Set(['same']));
  for (const store of [url, copy]) {
    const listed = await doneRecords('plants', 'list', ...on(store));
    assert.deepEqual(
      listed.map(({ id, name, tag }) => ({ id, name, ...(tag !== undefined && { tag }) })),
      plants,
    );
    const tokens = JSON.stringify(await doneRecords('token', 'list', ...on(store)));
    assert.match(tokens, /"name":"app"/);
    assert.doesNotMatch(tokens, /NULL/);
    const { schema, 'test write': write } = (await diagnose(store)).lines;
    assert.match(`${schema} ${write}`, /^ok .* ok /);
    await done('verify', ...on(store));
  }
});

test('a node opens no more connections than it is told, and refuses too few for its threads', async (t) => {
  const url = await server.makeDatabase();
  const within = (threads: number) => [
    ...['--database-connections', '8', '--http-threads', `${threads}`],
  ];
  const node = await startServer(t, url, within(2));
  assert.match(
    node.stderr(),
    /at most 7 connections to the database; the threads use no more of --database-connections 8"/,
  );
  const ids = Array.from({ length: 200 }, (_, id) => id);
  const replies = await Promise.all(ids.map((id) => create(node.plantsUrl, { id, name: 'Alder' })));
  assert(replies.every(({ status }) => status === 200));
  const open = `SELECT count(*)::int FROM pg_stat_activity WHERE datname = '${nameOfDatabase(url)}'`;
  const [{ count = 0 } = {}] = (await server.query(open)) as [{ count: number }];
  assert(count >= 3 && count <= 7, `${count} connections`);
  const refused = await runHere(['serve', '--store', url, ...within(7)]);
  assert.match(refused.stderr, /8 is too few for 7 HTTP threads; give 9 or more, or lower --http-/);
});

test('plants that a policy of the database hides are an error, and no part of them is called all', async (t) => {
  const url = await server.makeDatabase();
  await makeStore(url);
  const ours = 'CREATE POLICY half ON plants USING (id % 2 = 0)';
  for (const statement of [
    "INSERT INTO plants SELECT id, 'Alder', NULL, 0, 0 FROM generate_series(1, 4) AS id",
    `ALTER TABLE plants ENABLE ROW LEVEL SECURITY; ${ours}`,
    'CREATE ROLE reader LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO reader',
  ])
    await server.query(statement, url);
  const store = url.replace('//postgres', '//reader');
  const backup = join(await temporaryFolder(t), 'backup.db');
  for (const args of [
    ['plants', 'count'],
    ['plants', 'list'],
    ['backup', backup],
    ['verify'],
    ['export'],
  ]) {
    await refused(/row-level security policy/, ...args, ...on(store));
  }
});
