import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { until } from '../../helpers/pause.ts';
import { connectTo, queryValue } from '../../helpers/postgres-connection.ts';
import { setStandbys, startPair, waitForStandby } from '../../helpers/postgres-pair.ts';
import { create, createdAtLast, oneThread, startImpatient } from '../../helpers/program.ts';
import { plantsIn } from '../../torture/history/stored.ts';

/* More of it: standby.slow.test.ts. */

const pair = await startPair({ after });
const { primary, standby } = pair;
const url = await primary.makeDatabase();
const args = [...oneThread, '--commit-timeout', '2s', '--min-standbys', '1'];
/** For all tests in their order. */
const { plantsUrl, opsUrl, logged } = await startImpatient({ after }, url, args);

const alder = { id: 1, name: 'Alder' };
const oak = { id: 2, name: 'Oak' };
const status = async (plant: object) => (await create(plantsUrl, plant)).status;

test('a connection leads to the primary, although the URL names the standby first', async (t) => {
  const hosts = [standby, primary].map(({ port }) => `127.0.0.1:${port}`);
  const connection = await connectTo(t, `postgres://postgres@${hosts}/postgres`);
  assert.equal(await queryValue(connection, "current_setting('port')"), `${primary.port}`);
});

test('a plant that no standby has is not acknowledged, also not to a retry that finds it; when a standby has it, it is', async () => {
  await createdAtLast(plantsUrl, oak);
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

test('with --min-standbys, creates get 503 while the database waits for fewer standbys, and the log and /readyz say why', async () => {
  const why = "that the database waits for is 0 (synchronous_standby_names='')";
  const readyz = () => fetch(`${opsUrl}readyz`);
  // The log names the reason of an outage at its begin.
  const [begins, ends] = ['clients get 503', 'creates are stored again'];
  await logged((text) => text.lastIndexOf(ends) > text.lastIndexOf(begins));
  await until(readyz, ({ ok }) => ok);
  await setStandbys(primary, '');

  const refusal = await create(plantsUrl, { id: 3, name: 'Elm' });
  assert.equal(refusal.status, 503);
  const { error, message } = (await refusal.json()) as { error: number; message: string };
  assert.equal(error, 50301);
  assert(!message.includes('standby'), message);
  assert.equal(await status(alder), 503, 'a retry');
  await until(
    async () => (await readyz()).text(),
    (text) => text.includes(why),
  );
  assert.equal((await readyz()).status, 503);

  await waitForStandby(primary);
  for (const plant of [alder, { id: 3, name: 'Elm' }]) await createdAtLast(plantsUrl, plant);
  await until(readyz, ({ ok }) => ok);
  await logged((text) => text.includes(`${why}, and --min-standbys asks for 1`));
});
