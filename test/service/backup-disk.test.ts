import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { listBackups } from '../../src/cli/backup/parts.ts';
import { mountedDisk, mountedFailingDisk, slowDown } from '../helpers/mounts.ts';
import { pause } from '../helpers/pause.ts';
import {
  create,
  type Ended,
  oneThread,
  runProgram,
  startServer,
  storePath,
} from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';
import { openStoreAt } from '../helpers/store-file.ts';

const MiB = 2 ** 20;

interface Outcome extends Ended {
  readonly seconds: number;
  readonly creates: number;
  /** Why the store says that the last backup has failed. */
  readonly fault: string | undefined;
}

/**
 * Makes a small backup on the disk, lets the store grow by some 30 MiB, makes another backup, and
 * creates plants meanwhile. Each create must get 200, and the first backup must stay good.
 */
async function backUpOnto(t: TestContext, disk: string, spoil?: () => void): Promise<Outcome> {
  const path = await storePath(t);
  const flags = ['--store', `sqlite:${path}`];
  const { plantsUrl, stop } = await startServer(t, path, oneThread);
  assert.equal((await create(plantsUrl, { id: 1, name: 'Alder' })).status, 200);
  const folder = join(disk, 'backups');
  mkdirSync(folder);
  const args = ['backup', folder, '--keep', '1d:1ms', ...flags];
  const first = await runHere(args);
  assert.equal(first.code, 0, first.stderr);
  const good = listBackups(folder).at(-1)?.path ?? '';
  await grow(path);
  spoil?.();

  const startedMs = performance.now();
  let creates = 0;
  let ended: Ended | undefined;
  const running = runProgram(args).then((end) => {
    ended = end;
  });
  for (let id = 1_000_000; ended === undefined; id += 1) {
    assert.equal((await create(plantsUrl, { id, name: 'Oak' })).status, 200);
    creates += 1;
    await pause();
  }
  await running;
  const seconds = (performance.now() - startedMs) / 1_000;
  assert.equal(await stop(), 0);
  const verified = await runHere(['verify', good]);
  assert.equal(verified.code, 0, verified.stderr);
  assert.equal((await runHere(['verify', ...flags])).code, 0);
  await using store = await openStoreAt(path);
  const [job] = await store.listJobs();
  assert.equal((await store.listBackups())[0]?.file === good, job?.fault !== undefined);
  return { ...(ended as Ended), seconds, creates, fault: job?.fault };
}

async function grow(path: string): Promise<void> {
  await using store = await openStoreAt(path);
  const name = 'x'.repeat(100_000);
  for (let batch = 1; batch <= 10; batch += 1)
    await store.createPlants(
      Array.from({ length: 30 }, (_, index) => ({
        ...{ id: BigInt(batch * 100 + index), name, tag: undefined, createdBy: 0 },
      })),
    );
}

test('a full disk of backups fails the backup, and neither the service nor the last good backup', async (t) => {
  const disk = mountedDisk(t, 16 * MiB);
  if (disk === undefined) return;
  const { code, stderr, fault, creates } = await backUpOnto(t, disk.at);
  assert.equal(code, 1);
  assert.match(stderr, /full/);
  assert.match(fault ?? '', /full/);
  assert(creates > 0);
});

test('a disk of backups whose writes fail fails the backup, and neither the service nor the last good backup', async (t) => {
  const disk = mountedFailingDisk(t, 8 * MiB);
  if (disk === undefined) return;
  const { code, stderr, fault } = await backUpOnto(t, disk);
  assert.equal(code, 1);
  assert.match(stderr, /cannot (copy the store to|write) .*disk.* \(.*(I\/O error|EIO|ENOSPC).*\)/);
  assert.match(fault ?? '', /I\/O error|EIO|ENOSPC/);
});

test('a disk of backups that becomes read-only fails the backup, and neither the service nor the last good backup', async (t) => {
  const disk = mountedDisk(t, 64 * MiB);
  if (disk === undefined) return;
  const { code, stderr, fault } = await backUpOnto(t, disk.at, disk.breakDisk);
  assert.equal(code, 1);
  assert.match(stderr, /cannot write .* \(EROFS.*\); look at the disk of the backups/);
  assert.match(fault ?? '', /EROFS/);
});

test('a disk of backups with 10 MB a second slows the backup, and not the creates', async (t) => {
  const disk = mountedDisk(t, 96 * MiB);
  if (disk === undefined || !slowDown(t, disk.at, 10_000_000)) return;
  const { code, stderr, fault, seconds } = await backUpOnto(t, disk.at);
  assert.equal(code, 0, stderr);
  assert.equal(fault, undefined);
  assert(seconds > 2, `${seconds} s`);
});
