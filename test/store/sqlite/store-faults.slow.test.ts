import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { plant, quickHeartbeats, withLimits } from '../../helpers/faults.ts';
import { keepCreating } from '../../helpers/load.ts';
import { mountedDisk } from '../../helpers/mounts.ts';
import { until } from '../../helpers/pause.ts';
import {
  create,
  oneThread,
  startServer,
  startServerOnNewStore,
  takesNoCode,
} from '../../helpers/program.ts';
import { storedPlants } from '../../helpers/store-file.ts';

test('while the file system of the store is frozen, operators are answered and SIGTERM is heard; after the thaw, all goes on by itself', {
  skip: takesNoCode,
}, async (t) => {
  const disk = mountedDisk(t, 32 * 2 ** 20);
  if (disk === undefined) return;
  const store = join(disk.at, 'plants.db');
  const server = await startServer(t, store, oneThread, withLimits(quickHeartbeats));
  const readiness = async () => (await fetch(`${server.opsUrl}readyz`)).text();
  disk.freeze();
  await until(readiness, (says) => says.includes('the last stored test write was'));
  const waiting = create(server.plantsUrl, plant(1));
  assert.equal((await fetch(`${server.opsUrl}livez`)).status, 200);
  assert.equal((await fetch(`${server.opsUrl}metrics`)).status, 200);

  disk.thaw();

  assert.equal((await waiting).status, 200);
  await until(readiness, (says) => says.startsWith('{"ready":true'));

  disk.freeze();
  await until(readiness, (says) => says.includes('the last stored test write was'));
  server.child.kill('SIGTERM');
  await until(readiness, (says) => says.includes('it is shutting down'));
  disk.thaw();
  await once(server.child, 'close');
  assert.equal(server.child.exitCode, 0);
});

test('another program reads, checkpoints and closes the store beside a service under load, and harms nothing', async (t) => {
  const { store, plantsUrl, stop } = await startServerOnNewStore(t);
  const load = keepCreating(plantsUrl, 8, () => undefined);
  for (const checkpoint of ['PASSIVE', 'FULL', 'RESTART', 'TRUNCATE']) {
    const before = load.acknowledged.length;
    {
      using db = new DatabaseSync(store, { timeout: 5_000 });
      assert.equal(db.prepare('PRAGMA integrity_check').get()?.['integrity_check'], 'ok');
      assert(Number(db.prepare('SELECT count(*) AS n FROM plants').get()?.['n']) >= before);
      db.exec(`PRAGMA wal_checkpoint(${checkpoint})`);
      const change = () => db.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE');
      assert.throws(change, /locked/);
    }
    await load.acknowledgedMore(50);
  }
  await load.stop();
  assert.equal(await stop(), 0);
  assert.equal(storedPlants(store).length, load.acknowledged.length);
});
