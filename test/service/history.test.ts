import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeFaults } from '../torture/history/faults.ts';
import { historyOnSqlite, shortForm } from '../torture/history/run.ts';

test('two services on one store, killed and replaced under conflicting creates, give each id to one plant for ever', async (t) => {
  const { violations, counts } = await historyOnSqlite(t, await shortForm(t), nodeFaults);
  assert.deepEqual(violations, []);
  // The run is worth something only if all of this has happened in it.
  for (const [what, count] of Object.entries(counts))
    assert(count > 0, `${what}: ${JSON.stringify(counts)}`);
});
