import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { limits } from '../../../src/limits.ts';
import type { LinkedFinding, Readiness } from '../../../src/ops/contract.ts';
import { engineOf } from '../../../src/store/engines.ts';
import { ask, signIn } from '../../helpers/operators.ts';
import { pause } from '../../helpers/pause.ts';
import { nameOfDatabase, sendTo, untilRow } from '../../helpers/postgres.ts';
import { connectTo, locationOf, makeStore, withinMs } from '../../helpers/postgres-connection.ts';
import { setStandbys, startPair } from '../../helpers/postgres-pair.ts';
import {
  create,
  createdAtLast,
  oneThread,
  startImpatient,
  startServer,
  temporaryFolder,
} from '../../helpers/program.ts';
import { done, doneJson, on, refused } from '../../helpers/run-here.ts';
import { storedToken } from '../../helpers/stored-token.ts';
import { underWay } from '../../helpers/under-way.ts';

const commonPlants = fileURLToPath(new URL('../../data/common-plants.ndjson', import.meta.url));
const pair = await startPair({ after });
const ofImpatient = await pair.primary.makeDatabase();
const impatient = await startImpatient({ after }, ofImpatient, ['--commit-timeout', '2s']);

const alder = { id: 1, name: 'Alder' };

test('a running node tells when the database drops its standbys, and when it waits for them again', async (t) => {
  const { primary } = pair;
  const url = await primary.makeDatabase();
  const node = await startServer(t, url, oneThread);
  const { opsUrl, logged, stderr } = node;
  const cookie = await signIn(node, {
    token: await storedToken(url, 'alice', { role: 'operate' }),
  });
  const promised = async () => {
    const { checks } = (await (await fetch(`${opsUrl}readyz`)).json()) as Readiness;
    const metrics = await (await fetch(`${opsUrl}metrics`)).text();
    const { level, says = '' } = checks.find(({ name }) => name === 'promise') ?? {};
    return [/^plant_store_promised_disks (.*)$/m.exec(metrics)?.[1], level, says.slice(0, 22)];
  };
  assert.deepEqual(await promised(), ['2', 'ok', 'a 200 means: each plan']);
  await setStandbys(pair.primary, '');
  await logged((text) => /"warn".*a 200 means less from now on: .* on the disk of the /.test(text));
  assert.deepEqual(await promised(), ['1', 'warning', 'a 200 means less since']);
  const needAttention = async (): Promise<LinkedFinding[]> =>
    (await ask(node, 'GET api/overview', { cookie })).body.attention;
  while (!(await needAttention()).some(({ says }) => says.startsWith('promise: a 200 means less')))
    await pause();

  await setStandbys(pair.primary, '*');
  await logged((text) => /"info".*a 200 means more from now on: .*_names='\*'/.test(text));
  assert.deepEqual(await promised(), ['2', 'ok', 'a 200 means: each plan']);
  assert.equal(stderr().match(/from now on/g)?.length, 2);
});

test('a plant whose commit is told to wait for standbys no longer is not acknowledged, although the warning is switched off', async (t) => {
  const { primary, standby } = pair;
  const url = await primary.makeDatabase();
  await primary.query(`ALTER DATABASE ${nameOfDatabase(url)} SET client_min_messages = error`);
  const server = await startServer(t, url, [...oneThread, '--commit-timeout', '60s']);
  assert.equal((await create(server.plantsUrl, alder)).status, 200);
  await standby.stop('fast');
  const reply = underWay(create(server.plantsUrl, { id: 2, name: 'Oak' }));
  const commits = `${await transactionsOn(url)} AND wait_event = 'SyncRep'`;
  await untilRow(primary, `SELECT ${commits}`);

  await primary.query(`SELECT pg_cancel_backend(pid) ${commits}`);

  assert.equal((await reply).status, 503);
  await server.logged((text) => text.includes('no longer waits for its standbys'));
  await standby.start();
  await createdAtLast(server.plantsUrl, { id: 2, name: 'Oak' });
});

test('with --min-standbys, a create gets 503 if the settings before its commit or behind it ask for fewer standbys', async (t) => {
  const { primary, standby } = pair;
  const url = await primary.makeDatabase();
  const args = [...oneThread, '--min-standbys', '1', '--commit-timeout', '60s'];
  const { plantsUrl } = await startServer(t, url, args);
  await createdAtLast(plantsUrl, alder);
  const transactions = await transactionsOn(url);
  const locker = await connectTo(t, url);
  await standby.stop('fast');
  const released = underWay(create(plantsUrl, { id: 2, name: 'Oak' }));
  await untilRow(primary, `SELECT ${transactions} AND wait_event = 'SyncRep'`);
  await setStandbys(pair.primary, '');
  assert.equal((await released).status, 503);

  await locker.client.query('BEGIN; LOCK TABLE plants IN SHARE MODE');
  const unaware = underWay(create(plantsUrl, { id: 3, name: 'Elm' }));
  const old = `clock_timestamp() - interval '${limits.postgres.standbysSettleMs} ms'`;
  await untilRow(primary, `SELECT ${transactions} AND NOT granted AND xact_start < ${old}`);
  // It tells commits whether to wait, and does not take the settings in.
  const [checkpointer] = await primary.query(
    "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'",
  );
  sendTo(Number(checkpointer?.['pid']), 'SIGSTOP');
  await setStandbys(pair.primary, '*');
  await locker.client.query('ROLLBACK');
  assert.equal((await unaware).status, 503);

  sendTo(Number(checkpointer?.['pid']), 'SIGCONT');
  await standby.start();
  for (const id of [2, 3]) await createdAtLast(plantsUrl, { id, name: id === 2 ? 'Oak' : 'Elm' });
});

test('while no standby answers, what nodes have given up does not stay with the database', async () => {
  const { primary, standby } = pair;
  const { plantsUrl } = impatient;
  await createdAtLast(plantsUrl, alder);
  await standby.stop('fast');
  for (let round = 1; round <= 3; round += 1) {
    const replies = Array.from({ length: 12 }, (_, index) =>
      create(plantsUrl, { id: 100 * round + index, name: 'Oak' }),
    );
    for (const { status } of await Promise.all(replies)) assert.equal(status, 503);
  }

  await untilRow(
    primary,
    `SELECT FROM pg_stat_activity WHERE application_name = 'plant-store' HAVING count(*) <= ${3 * poolSize}`,
  );

  await standby.start();
  await createdAtLast(plantsUrl, { id: 2, name: 'Oak' });
});

test('a standby that the URL names alone is read and backed up, takes no writes, and tells which setting a long read of it needs', async (t) => {
  const { primary, standby } = pair;
  const url = await primary.makeDatabase();
  const there = url.replace(`:${primary.port}/`, `:${standby.port}/`);
  await makeStore(url);
  await done('import', commonPlants, ...on(url));
  await untilRow(standby, 'SELECT WHERE pg_last_wal_replay_lsn() = pg_last_wal_receive_lsn()');
  const folder = await temporaryFolder(t);
  const backup = join(folder, 'backup.db');

  assert.deepEqual(await doneJson('plants', 'count', ...on(there)), { plants: 100 });
  assert.equal((await doneJson('plants', 'get', '7', ...on(there))).id, 7);
  const list = ['plants', 'list', '--name-contains', 'alder', '--format', 'csv'];
  assert.equal(
    (await done(...list, ...on(there))).stdout,
    (await done(...list, ...on(url))).stdout,
  );
  const { stderr } = await done('backup', backup, ...on(there));
  assert.match(stderr, /could not be recorded in the store: .* it is a standby, which takes no wr/);
  await done('verify', '--against', backup, ...on(there));
  await done('export', join(folder, 'plants.csv'), ...on(there));
  const copied = await doneJson('copy', there, `sqlite:${join(folder, 'c.db')}`);
  assert.equal(copied.created, 100);
  await refused(/it is a standby, which takes no writes/, 'import', commonPlants, ...on(there));

  await standby.set('max_standby_streaming_delay', '0');
  await using reader = await engineOf(locationOf(there)).openReader(withinMs);
  await using snapshot = await reader.openSnapshot();
  for (const sql of [
    'INSERT INTO heartbeat VALUES (1, 1)',
    'DELETE FROM heartbeat',
    'VACUUM heartbeat',
  ])
    await primary.query(sql, nameOfDatabase(url));
  await untilRow(standby, 'SELECT FROM pg_stat_database_conflicts WHERE confl_snapshot > 0');
  await assert.rejects(snapshot.countPlants(), /set hot_standby_feedback = on/);
});

/** What a query says behind SELECT of the transactions that store plants. */
async function transactionsOn(url: string): Promise<string> {
  const [table] = await pair.primary.query("SELECT 'plants'::regclass::oid", nameOfDatabase(url));
  return `FROM pg_stat_activity JOIN pg_locks USING (pid)
    WHERE relation = ${table?.['oid']} AND mode = 'RowExclusiveLock'`;
}

/** Of the main thread and of each that answers requests. */
const poolSize = limits.postgres.connectionsPerThread;
