import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { until } from '../../helpers/pause.ts';
import { setStandbys, startPair, waitForStandby } from '../../helpers/postgres-pair.ts';
import {
  create,
  createdAtLast,
  oneThread,
  startImpatient,
  startServer,
} from '../../helpers/program.ts';
import { plantsIn } from '../../torture/history/stored.ts';

/* More of it: standby.slow.test.ts. */

const pair = await startPair({ after });
const alder = { id: 1, name: 'Alder' };

test('a plant that no standby has is not acknowledged, also not to a retry that finds it; when a standby has it, it is', async (t) => {
  const { primary, standby } = pair;
  const url = await pair.primary.makeDatabase();
  const { plantsUrl } = await startImpatient(t, url, [...oneThread, '--commit-timeout', '2s']);
  const status = async (plant: object) => (await create(plantsUrl, plant)).status;
  await createdAtLast(plantsUrl, { id: 2, name: 'Oak' });
  await standby.stop('fast');
  assert.equal(await status(alder), 503);

  await primary.stop('fast');
  await primary.start();
  assert.equal((await plantsIn(url)).get('1')?.name, alder.name);
  for (let tries = 0; tries < 2; tries += 1)
    assert.deepEqual(
      await Promise.all([alder, { ...alder, tag: 'Alnus' }].map(status)),
      [503, 503],
    );

  await standby.start();
  await createdAtLast(plantsUrl, alder);
  assert.equal(await status({ ...alder, tag: 'Alnus' }), 400);
  assert.equal((await plantsIn(url)).size, 2);
});

test('with --min-standbys, creates get 503 while the database waits for fewer standbys, and the log and /readyz say why', async (t) => {
  const url = await pair.primary.makeDatabase();
  const args = [...oneThread, '--min-standbys', '1'];
  const { plantsUrl, opsUrl, logged } = await startServer(t, url, args);
  const why = "that the database waits for is 0 (synchronous_standby_names='')";
  const readyz = () => fetch(`${opsUrl}readyz`);
  assert.equal((await create(plantsUrl, alder)).status, 200);
  await setStandbys(pair.primary, '');

  const refusal = await create(plantsUrl, { id: 2, name: 'Oak' });
  assert.equal(refusal.status, 503);
  const { error, message } = (await refusal.json()) as { error: number; message: string };
  assert.equal(error, 50301);
  assert(!message.includes('standby'), message);
  assert.equal((await create(plantsUrl, alder)).status, 503, 'a retry');
  await logged((text) => text.includes(`${why}, and --min-standbys asks for 1`));
  const unready = await until(readyz, ({ status }) => status === 503);
  assert((await unready.text()).includes(why));

  await waitForStandby(pair.primary);
  for (const plant of [alder, { id: 2, name: 'Oak' }]) await createdAtLast(plantsUrl, plant);
  await until(readyz, ({ ok }) => ok);
});
