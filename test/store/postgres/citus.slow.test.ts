import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { engineOf } from '../../../src/store/engines.ts';
import { StoreError } from '../../../src/store/errors.ts';
import { type Citus, startCitus } from '../../helpers/citus.ts';
import { diagnose } from '../../helpers/diagnosis.ts';
import { keepCreating } from '../../helpers/load.ts';
import { until } from '../../helpers/pause.ts';
import { locationOf } from '../../helpers/postgres-connection.ts';
import { startServer, temporaryFolder } from '../../helpers/program.ts';
import { done, doneJson, on } from '../../helpers/run-here.ts';
import { newStore } from '../../helpers/store-file.ts';
import { startProxy } from '../../helpers/tcp-proxy.ts';
import { historyOnCitus, shortForm } from '../../torture/history/run.ts';
import { plantsIn } from '../../torture/history/stored.ts';
import { storeSuite } from '../store-suite.ts';

const found = await startCitus({ after });
const where = process.env['TEST_POSTGRES_BIN'] || 'the npm package';
// No registry has Citus: TEST_POSTGRES_BIN is for those who have installed it.
if (found === undefined) test('Citus', (t) => t.skip(`the PostgreSQL of ${where} has no Citus`));
else await testsOf(found);

async function testsOf(citus: Citus) {
  const query = (url: string, text: string) => citus.coordinator.query(text, url);
  const emptied = await citus.makeDatabase();
  const [row] = await query(emptied, 'SELECT citus_version()');
  const [, version] = /^Citus ([0-9.]+)/.exec(`${row?.['citus_version']}`) ?? [];
  const distribute = "SELECT create_distributed_table('plants', 'id')";

  storeSuite(`Citus ${version}`, async (owner) => {
    const tables = 'plants, plant_store, tokens, sessions, backups, heartbeat';
    await query(emptied, `DROP TABLE IF EXISTS ${tables}`);
    const store = await engineOf(locationOf(emptied)).open({ callMs: 10_000, mayMake: true });
    await query(emptied, distribute);
    owner.after(() => store.close());
    return store;
  });

  test('while workers and the coordinator of Citus are killed and stand still, creates get 503 in bounded time, soon after they get 200, and each id has one plant for ever', async (t) => {
    const { violations } = await historyOnCitus(t, await shortForm(t), citus, 6_000);
    assert.deepEqual(violations, []);
  });

  test('plants that were acknowledged are invisible while a worker lacks the second phase of their commit, no other plants get their ids, and the plants come back', async (t) => {
    const url = await citus.makeStore();
    const [worker] = citus.workers;
    const proxy = await startProxy(t, worker?.port ?? 0);
    const update = `SELECT citus_update_node(nodeid, nodename, ${proxy.port})`;
    await query(url, `${update} FROM pg_dist_node WHERE nodeport = ${worker?.port}`);
    await using store = await engineOf(locationOf(url)).open({ callMs: 1_000, mayMake: true });
    const create = async (name: string) => {
      const plant = { name, tag: undefined, createdBy: 0 };
      const plants = Array.from({ length: 20 }, (_, id) => ({ id: BigInt(id), ...plant }));
      return new Set(await store.createPlants(plants));
    };
    const visible = async () => (await plantsIn(url)).size;
    proxy.cutAt('COMMIT PREPARED');

    assert.deepEqual(await create('Alder'), new Set(['created']));
    const some = await visible();
    assert(some > 0 && some < 20, `${some} are visible`);
    for (const name of ['Alder', 'Birch']) await assert.rejects(create(name), StoreError);
    proxy.heal();
    await until(visible, (plants) => plants === 20);
    assert.deepEqual(await create('Birch'), new Set(['taken']));
  });

  test('doctor finds a worker that may lose what it commits', async () => {
    const url = await citus.makeStore();
    const [worker] = citus.workers;
    for (const [fsync, says] of [
      ['off', new RegExp(`^error workers are away, or .*: 127.0.0.1:${worker?.port} \\(off/on\\)`)],
      ['on', /^ok a plant store, /],
    ] as const) {
      await worker?.set('fsync', fsync);
      assert.match((await diagnose(url)).lines['schema'] ?? '', says);
    }
  });

  test('a store goes from SQLite to the workers of Citus, and its backup to a new store whose plants are distributed', async (t) => {
    const source = `sqlite:${await newStore(t, 5_000)}`;
    const [url, restored] = [await citus.makeStore(), await citus.makeDatabase()];
    const backup = join(await temporaryFolder(t), 'backup.db');
    const { created, target } = await doneJson('copy', source, url);
    assert.deepEqual([created, target.plants], [5_000, 5_000]);
    await done('backup', backup, ...on(url));
    await done('restore', backup, ...on(restored));
    await query(restored, distribute);
    for (const store of [source.replace('sqlite:', ''), url, restored]) {
      const found = await doneJson('verify', '--against', backup, ...on(store));
      assert.deepEqual([found.plants, found.changed, found.missing], [5_000, 0, 0]);
    }
  });

  test('while shards move to a new worker, each create gets 200, and no plant is lost', async (t) => {
    const url = await citus.makeStore();
    const { plantsUrl } = await startServer(t, url);
    const load = keepCreating(plantsUrl);
    await load.acknowledgedMore(200);
    const third = citus.workers[2]?.port;
    for (const step of [`add_node('127.0.0.1', ${third})`, 'rebalance_start()', 'rebalance_wait()'])
      await query(url, `SELECT citus_${step}`);
    const moved = `SELECT FROM citus_shards WHERE nodeport = ${third}`;
    assert.equal((await query(url, moved)).length, 2);
    await load.acknowledgedMore(200);
    await load.stop();
    const stored = await plantsIn(url);
    assert(load.acknowledged.every((id) => stored.has(`${id}`)));
  });
}
