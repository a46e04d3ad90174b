import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '../../helpers/program.ts';
import { loseMachines } from '../../torture/disasters.ts';
import { nodeFaults } from '../../torture/history/faults.ts';
import { historyOnSqlite, shortForm } from '../../torture/history/run.ts';

test('a machine that is lost during any command keeps every plant and its last good backup, and the run is not blind', async (t) => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  t.diagnostic(`to repeat it: node test/torture/disasters.ts --rounds 2 --seed ${seed}`);
  const folder = await temporaryFolder(t);
  const report = (line: string) => t.diagnostic(line);
  const run = { folder, owner: t, rounds: 2, seed, report };
  const { violations, rounds, acknowledged } = await loseMachines(run);
  assert.deepEqual([violations, rounds], [[], 2]);
  assert(acknowledged > 2_000);
});

test('two services on one store, killed and replaced under conflicting creates, give each id to one plant for ever', async (t) => {
  const { violations, counts } = await historyOnSqlite(t, await shortForm(t), nodeFaults);
  assert.deepEqual(violations, []);
  // The run is worth something only if all of this has happened in it.
  for (const [what, count] of Object.entries(counts))
    assert(count > 0, `${what}: ${JSON.stringify(counts)}`);
});
