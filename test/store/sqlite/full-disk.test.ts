import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { namesIn } from '../../helpers/backups.ts';
import { keepCreating } from '../../helpers/load.ts';
import {
  mounted,
  mountedDisk,
  mountedFailingDisk,
  mountedUnreadable,
} from '../../helpers/mounts.ts';
import {
  create,
  oneThread,
  runProgram,
  startServer,
  storePath,
  temporaryFolder,
} from '../../helpers/program.ts';
import { done, doneJson, failed, on, refused, runHere } from '../../helpers/run-here.ts';
import { addPlants, addToken, makeStore, newStore, openStoreAt } from '../../helpers/store-file.ts';

/** Writes until nothing more can be written. @returns the file, whose removal makes room */
function fill(folder: string): string {
  const ballast = join(folder, 'ballast');
  const write = () => {
    for (;;) writeFileSync(ballast, Buffer.alloc(4_096), { flag: 'a' });
  };
  assert.throws(write, { code: 'ENOSPC' });
  return ballast;
}

function takeInodes(folder: string): void {
  const make = () => {
    for (let file = 0; ; file += 1) writeFileSync(join(folder, `${file}`), '');
  };
  assert.throws(make, { code: 'ENOSPC' });
}

function makeReadOnly(folder: string): void {
  assert.equal(spawnSync('mount', ['-o', 'remount,ro', folder]).status, 0);
}

/** Disks on which nothing can be written, and what is said of them. */
const disks: Readonly<Record<string, readonly [prepare: (folder: string) => void, says: string]>> =
  {
    'without a free byte': [fill, 'ENOSPC: no space left on device, write'],
    'without a free inode': [takeInodes, "ENOSPC: no space left on device, open 'FOLDER/.*'"],
    'that is read-only': [makeReadOnly, "EROFS: read-only file system, (open|access) 'FOLDER/.*'"],
  };

for (const [what, [prepare, says]] of Object.entries(disks)) {
  test(`after a clean stop on a disk ${what}, commands read the store, and what writes says why it cannot`, async (t) => {
    const folder = mounted(t, 'size=1m,nr_inodes=20');
    if (folder === undefined) return;
    const store = join(folder, 'plants.db');
    makeStore(store, 2);
    addToken(store, 'my-app');
    prepare(folder);
    const elsewhere = await temporaryFolder(t);
    const backup = join(elsewhere, 'backup.db');
    const named = on(store);

    const lines = '{"id":1,"name":"xxxxxxxxxx1","tag":"odd"}\n{"id":2,"name":"xxxxxxxxxx2"}\n';
    for (const [command, prints] of [
      [['plants', 'get', '2'], /^\{"id":2,"name":"xxxxxxxxxx2",/],
      [['plants', 'list'], /"xxxxxxxxxx1"/],
      [['plants', 'count'], /^2\n$/],
      [['export', '--format', 'ndjson'], new RegExp(`^${lines}$`)],
      [['token', 'list'], /^my-app +create/m],
      [['backup', backup], /^plants +2$/m],
      [['verify', backup], /^plants +2$/m],
      [['verify'], /^plants +2$/m],
      [['verify', '--against', backup], /^changed +0$/m],
    ] as const) {
      const { code, stdout, stderr } = await runHere([...command, ...named]);
      assert.match(stdout, prints, `${command.join(' ')}: ${stderr}`);
      assert.equal(code, 0);
    }
    const line = new RegExp(
      `^plant-store: cannot open the store at ${store}: ${says.replace('FOLDER', folder)}; the user \\d+ must be able to read and write there, with room for 128 KiB in two more files, or choose another store with --store\n$`,
    );
    for (const command of [
      ['serve', '--port', '0'],
      ['token', 'create', 'x'],
    ]) {
      await refused(line, ...command, ...named);
    }
    const doctor = await runHere(['doctor', ...named]);
    assert.match(doctor.stdout, /^error +(free space|free inodes|folder) +/m);
  });
}

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

async function storeOnFullDisk(t: TestContext) {
  const folder = mounted(t, 'size=1m');
  if (folder === undefined) return undefined;
  const store = join(folder, 'plants.db');
  makeStore(store, 1);
  return { store, ballast: fill(folder) };
}

test('a store whose last plants are in a WAL is not read without it', async (t) => {
  const disk = await storeOnFullDisk(t);
  if (disk === undefined) return;
  rmSync(disk.ballast);
  const source = await newStore(t, 1);
  using writer = new DatabaseSync(source);
  writer.exec("INSERT INTO plants VALUES (2, 'only in the WAL', NULL, 1000, 0)");
  copyFileSync(source, disk.store);
  copyFileSync(`${source}-wal`, `${disk.store}-wal`);
  fill(join(disk.store, '..'));

  const says = /cannot open the store at \S+: the disk is full: 128 KiB are needed/;
  await refused(says, 'plants', 'count', ...on(disk.store));
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
