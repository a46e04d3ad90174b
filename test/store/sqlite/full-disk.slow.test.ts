import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { namesIn } from '../../helpers/backups.ts';
import { keepCreating } from '../../helpers/load.ts';
import { mountedDisk, mountedFailingDisk, mountedUnreadable } from '../../helpers/mounts.ts';
import { create, oneThread, runProgram, startServer, storePath } from '../../helpers/program.ts';
import { done, doneJson, failed, on, refused } from '../../helpers/run-here.ts';
import { addPlants, makeStore, openStoreAt } from '../../helpers/store-file.ts';

test('a store on a disk that cannot be read is not called damaged', async (t) => {
  const sound = await storePath(t);
  makeStore(sound, 5_000);
  const store = mountedUnreadable(t, sound);
  if (store === undefined) return;
  const named = on(store);
  const inOpen = /cannot open the store at .*: EIO: i\/o error, read; .* \(dmesg\)/;
  await refused(inOpen, 'serve', '--port', '0', ...named);
  await refused(/cannot read the store \(EIO: i\/o error, read\)$/m, 'verify', ...named);
  const inRead = /malformed; look for errors of the disk .* \(dmesg\), and verify the store$/m;
  await refused(inRead, 'plants', 'count', '--name-contains', 'z', ...named);
});

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
  const files = (await store.listBackups()).map((backup) => backup.file);
  assert.deepEqual(files, [file]);
}

test('a full disk of backups fails the backup, and neither the service nor the last good backup', async (t) => {
  const disk = mountedDisk(t, 16 * 2 ** 20);
  if (disk !== undefined) await failsOn(t, disk.at, /full/);
});

test('a disk of backups whose writes fail fails the backup, and neither the service nor the last good backup', async (t) => {
  const disk = mountedFailingDisk(t, 8 * 2 ** 20);
  const says = /cannot (copy the store to|write) .*disk.* \(.*(I\/O error|EIO|ENOSPC).*\)/;
  if (disk !== undefined) await failsOn(t, disk, says);
});
