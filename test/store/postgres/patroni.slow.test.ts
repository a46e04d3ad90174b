import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPatroni, whyNoPatroni } from '../../helpers/patroni.ts';
import { historyOnPatroni, shortForm } from '../../torture/history/run.ts';

test('while Patroni switches over, and fails over from a primary that is killed or stands still, creates get 503 in bounded time, soon after they get 200, and each id has one plant for ever', async (t) => {
  const why = whyNoPatroni();
  if (why !== undefined) return t.skip(why);
  const { violations } = await historyOnPatroni(t, await shortForm(t), await startPatroni(t));
  assert.deepEqual(violations, []);
});
