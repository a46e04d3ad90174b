import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { namesIn } from '../helpers/backups.ts';
import { keepCreating } from '../helpers/load.ts';
import { mountedDisk, mountedFailingDisk } from '../helpers/mounts.ts';
import { create, oneThread, runProgram, startServer, storePath } from '../helpers/program.ts';
import { done, doneJson, failed, on } from '../helpers/run-here.ts';
import { addPlants, openStoreAt } from '../helpers/store-file.ts';

const MiB = 2 ** 20;

/**
 * Makes a small backup on the disk, lets the store grow by some 30 MiB, and makes another backup,
 * which must fail. Meanwhile each create must get 200. The first backup must stay good, and nothing
 * else be left.
 */
async function failsOn(t: TestContext, disk: string, says: RegExp): Promise<void> {
  const path = await storePath(t);
  const { plantsUrl, stop } = await startServer(t, path, oneThread);
  assert.equal((await create(plantsUrl, { id: -1, name: 'Alder' })).status, 200);
  const folder = join(disk, 'backups');
  mkdirSync(folder);
  const args = ['backup', folder, '--keep', '1d:1ms', ...on(path)];
  const { file } = await doneJson(...args);
  const before = namesIn(folder);
  addPlants(path, 300, 100_000);

  const load = keepCreating(plantsUrl, 1);
  failed(await runProgram(args), says);
  await load.stop();
  assert(load.acknowledged.length > 0);
  assert.equal(await stop(), 0);
  assert.deepEqual(namesIn(folder), before);
  await done('verify', file);
  await done('verify', ...on(path));
  await using store = await openStoreAt(path);
  assert.deepEqual(
    (await store.listBackups()).map((backup) => backup.file),
    [file],
  );
}

test('a full disk of backups fails the backup, and neither the service nor the last good backup', async (t) => {
  const disk = mountedDisk(t, 16 * MiB);
  if (disk !== undefined) await failsOn(t, disk.at, /full/);
});

test('a disk of backups whose writes fail fails the backup, and neither the service nor the last good backup', async (t) => {
  const disk = mountedFailingDisk(t, 8 * MiB);
  const says = /cannot (copy the store to|write) .*disk.* \(.*(I\/O error|EIO|ENOSPC).*\)/;
  if (disk !== undefined) await failsOn(t, disk, says);
});
