import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPostgres } from '../../helpers/postgres.ts';
import { oneThread, startImpatient } from '../../helpers/program.ts';
import { killDatabase } from '../../torture/history/faults.ts';
import { runHistory, shortForm } from '../../torture/history/run.ts';
import { plantsIn } from '../../torture/history/stored.ts';

/* The other faults: faults.slow.test.ts. */

test('while the database is killed, creates get 503, soon after they get 200, and each id has one plant for ever', async (t) => {
  const database = await startPostgres(t);
  const url = await database.makeDatabase();
  const startNode = () => startImpatient(t, url, [...oneThread, '--commit-timeout', '2s']);
  const nodes = [await startNode(), await startNode()];
  const setting = { database, nodes, startNode, readStore: () => plantsIn(url) };
  const { violations } = await runHistory(setting, { killDatabase }, await shortForm(t));
  assert.deepEqual(violations, []);
});
