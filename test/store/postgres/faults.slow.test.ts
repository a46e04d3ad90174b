import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mounted } from '../../helpers/mounts.ts';
import { lacksPgBouncer } from '../../helpers/poolers.ts';
import { startPostgres } from '../../helpers/postgres.ts';
import { oneThread, startImpatient } from '../../helpers/program.ts';
import { clusterFaults } from '../../torture/history/cluster.ts';
import {
  databaseFaults,
  fillDisk,
  networkFaults,
  nodeFaults,
} from '../../torture/history/faults.ts';
import {
  findsLosses,
  historyOnPostgres,
  runHistory,
  shortForm,
} from '../../torture/history/run.ts';
import { plantsIn } from '../../torture/history/stored.ts';

const args = [...oneThread, '--commit-timeout', '2s'];

/** The torture of the history has the others. Each lasts long enough for every deadline to be met. */
const tried = [
  'the database is killed',
  'the database stands still',
  'everything between the nodes and the database is lost',
  'a node is killed, and another takes its place',
  'a partition leaves the old primary to one node',
];
const faults = { ...databaseFaults, ...networkFaults, ...nodeFaults, ...clusterFaults };

test('through faults of a database, its network and its nodes, creates get 503 in bounded time, soon after they get 200, and each id has one plant for ever', async (t) => {
  if (lacksPgBouncer(t)) return;
  const some = Object.fromEntries(Object.entries(faults).filter(([what]) => tried.includes(what)));
  const setting = { faultMs: 6_000, args };
  const { violations } = await historyOnPostgres(t, await shortForm(t), some, setting);
  assert.deepEqual(violations, []);
});

test('the history of a primary whose commits wait for no standby shows what a failover loses', async (t) => {
  if (lacksPgBouncer(t)) return;
  assert.deepEqual(await findsLosses(t, await shortForm(t), args), []);
});

test('when the disk of the database is full, creates get 503, soon after they get 200, and nothing is lost', async (t) => {
  const folder = mounted(t, 'size=200m');
  if (folder === undefined) return;
  const database = await startPostgres(t, { max_wal_size: '64MB' }, folder);
  const url = await database.makeDatabase();
  const startNode = () => startImpatient(t, url, args);
  const nodes = [await startNode(), await startNode()];
  const setting = { database, nodes, startNode, readStore: () => plantsIn(url) };
  const { violations } = await runHistory(setting, { fillDisk }, await shortForm(t));
  assert.deepEqual(violations, []);
});
