import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { noteFailedSyncs } from '../../../src/store/sqlite/failed-sync.ts';
import {
  assertEndsByItself,
  plant,
  smallLog,
  statusAndCode,
  withLimits,
} from '../../helpers/faults.ts';
import { createUntilRefused } from '../../helpers/load.ts';
import { mounted, mountedDisk } from '../../helpers/mounts.ts';
import {
  create,
  createdAtLast,
  oneThread,
  startServer,
  startServerOnNewStore,
  storePath,
  takesNoCode,
  temporaryFolder,
} from '../../helpers/program.ts';
import { done, on, refused, runHere } from '../../helpers/run-here.ts';
import { makeStore, newStore, storedIds } from '../../helpers/store-file.ts';

/*
 * What happens to a store from outside, each kind once. The slow tests beside this file have the
 * further cases.
 */

test('on a full disk creates get 50301 and retries 200, also after a restart; once there is space again, all goes on', async (t) => {
  const folder = mounted(t, 'size=8m');
  if (folder === undefined) return;
  const store = join(folder, 'plants.db');
  const killed = await startServer(t, store, oneThread);
  const ballast = join(folder, 'ballast');
  // Without it, there is room for the pages of the WAL in the file, as a command that writes asks for.
  writeFileSync(ballast, Buffer.alloc(5 * 2 ** 20));
  const name = 'leaf '.repeat(20_000);
  const { acknowledged, refusals } = await createUntilRefused(killed.plantsUrl, () => name);
  assert.deepEqual(refusals, [[503, 50301]]);
  await killed.logged((log) => log.includes('with code 50301: database or disk is full; a retry'));
  await killed.stop('SIGKILL');

  const server = await startServer(t, store, oneThread);
  // Before the retries, which would store what was lost.
  assert.deepEqual(storedIds(store), acknowledged);
  for (const id of acknowledged)
    assert.equal((await create(server.plantsUrl, { id, name })).status, 200);
  const another = await create(server.plantsUrl, { id: -1, name });
  assert.deepEqual(await statusAndCode(another), [503, 50301]);
  rmSync(ballast);
  assert.equal((await create(server.plantsUrl, { id: -2, name })).status, 200);
  await server.logged((log) => /stored again after .*; requests refused: [1-9]/.test(log));
  assert.equal(await server.stop(), 0);
  assert.deepEqual(storedIds(store), [-2, ...acknowledged]);
});

/** Writes until nothing more can be written. */
function fill(folder: string): void {
  const write = () => {
    for (;;) writeFileSync(join(folder, 'ballast'), Buffer.alloc(4_096), { flag: 'a' });
  };
  assert.throws(write, { code: 'ENOSPC' });
}

function takeInodes(folder: string): void {
  const make = () => {
    for (let file = 0; ; file += 1) writeFileSync(join(folder, `${file}`), '');
  };
  assert.throws(make, { code: 'ENOSPC' });
}

/** Disks on which nothing can be written, and what is said of them. */
const disks: Record<string, readonly [prepare: (folder: string) => unknown, says: string]> = {
  'without a free byte': [fill, 'ENOSPC: no space left on device, write'],
  'without a free inode': [takeInodes, "ENOSPC: no space left on device, open '\\S*'"],
  'that is read-only': [
    (folder) => spawnSync('mount', ['-o', 'remount,ro', folder]),
    "EROFS: read-only file system, (open|access) '\\S*'",
  ],
};

for (const [what, [prepare, says]] of Object.entries(disks)) {
  test(`after a clean stop on a disk ${what}, commands read the store, and what writes says why it cannot`, async (t) => {
    const folder = mounted(t, 'size=1m,nr_inodes=20');
    if (folder === undefined) return;
    const store = join(folder, 'plants.db');
    makeStore(store, 2);
    prepare(folder);
    const backup = join(await temporaryFolder(t), 'backup.db');

    assert.match(
      (await done('export', '--format', 'ndjson', ...on(store))).stdout,
      /^(\{.*\n){2}$/,
    );
    assert.match((await done('backup', backup, ...on(store))).stdout, /^plants +2$/m);
    const line = new RegExp(
      `^plant-store: cannot open the store at ${store}: ${says}; the user \\d+ must be able to read and write there, with room for 128 KiB in two more files, or choose another store with --store\n$`,
    );
    for (const command of [
      ['serve', '--port', '0'],
      ['token', 'create', 'x'],
    ])
      await refused(line, ...command, ...on(store));
    const doctor = await runHere(['doctor', ...on(store)]);
    assert.match(doctor.stdout, /^error +(free space|free inodes|folder) +/m);
  });
}

test('a store whose last plants are in a WAL is not read without it', async (t) => {
  const folder = mounted(t, 'size=1m');
  if (folder === undefined) return;
  const store = join(folder, 'plants.db');
  const source = await newStore(t, 1);
  using writer = new DatabaseSync(source);
  writer.exec("INSERT INTO plants VALUES (2, 'only in the WAL', NULL, 1000, 0)");
  for (const end of ['', '-wal']) copyFileSync(source + end, store + end);
  fill(folder);

  const says = /cannot open the store at \S+: ENOSPC: no space left on device, write; .* 128 KiB/;
  await refused(says, 'plants', 'count', ...on(store));
});

test('on a disk that the kernel makes read-only after an error, a service answers 503 until it is told to stop; it does not start there, and says why', async (t) => {
  const disk = mountedDisk(t, 16 * 2 ** 20);
  if (disk === undefined) return;
  const store = join(disk.at, 'plants.db');
  const server = await startServer(t, store, oneThread);
  assert.equal((await create(server.plantsUrl, plant(1))).status, 200);

  disk.breakDisk();

  assert.deepEqual(await statusAndCode(await create(server.plantsUrl, plant(2))), [503, 50301]);
  assert.equal(await server.stop(), 1);
  // So soon after the start, the thread of the store may not have opened the store.
  assert.match(
    server.stderr(),
    /(disk I\/O error|EROFS).*no note of that could be left beside the store/,
  );
  const says = /: cannot open the store at .*: EROFS: read-only file system, (open|access) /;
  await refused(says, 'serve', '--port', '0', ...on(store));
});

test('when the store is removed under a running service, the next create gets 50301, and the service saves the plants and ends', async (t) => {
  const server = await startServerOnNewStore(t, ...oneThread);
  assert.equal((await create(server.plantsUrl, plant(1))).status, 200);

  // So soon after the start, the thread that saves the plants may not have opened the store.
  rmSync(server.store);

  assert.deepEqual(await statusAndCode(await create(server.plantsUrl, plant(2))), [503, 50301]);
  await assertEndsByItself(server, /have been removed or replaced while it was open/);
  const [, saved = ''] = /every stored plant is in (\S+) and /.exec(server.stderr()) ?? [];
  assert.deepEqual(
    storedIds(saved).filter((id) => id !== 2),
    [1],
    server.stderr(),
  );
});

test('a reader that does not end lets the WAL grow to its limit: creates get 50301 until it has ended, and nothing is lost', {
  skip: takesNoCode,
}, async (t) => {
  const store = await storePath(t);
  const server = await startServer(t, store, oneThread, withLimits(smallLog));
  using reader = new DatabaseSync(store, { readOnly: true, timeout: 5_000 });
  reader.exec('BEGIN; SELECT count(*) FROM plants');
  const name = 'leaf '.repeat(20_000);

  const { acknowledged, refusals } = await createUntilRefused(server.plantsUrl, () => name);

  assert.deepEqual(refusals, [[503, 50301]]);
  const says =
    /the WAL has grown to 4 MiB, because another program has been reading .* refused until that program ends/;
  await server.logged((stderr) => says.test(stderr));
  await done('token', 'create', 'other', ...on(store));

  reader.exec('COMMIT');

  await createdAtLast(server.plantsUrl, { id: -1, name });
  assert(statSync(`${store}-wal`).size <= 256 * 2 ** 10);
  assert.equal(await server.stop(), 0);
  assert.equal(storedIds(store).length, 1 + acknowledged.length);
});

test('a damaged store is not opened: the line says what to do, and the file is left as it is', async (t) => {
  const store = await newStore(t, 10_000);
  const pageBytes = 4_096;
  const before = readFileSync(store).fill(0x5a, 40 * pageBytes, 42 * pageBytes);
  writeFileSync(store, before);

  await refused(
    /: the store at .* is damaged \(.*\); keep the file, and put a backup in its place with "plant-store restore BACKUP --overwrite --store sqlite:\/[^"]+"\n$/,
    ...['serve', '--port', '0', ...on(store)],
  );
  assert.deepEqual(readFileSync(store), before);
});

test('a note about a store whose WAL is empty is cleared by the next command that writes', async (t) => {
  const store = await newStore(t, 10);
  noteFailedSyncs(store, ['store', 'WAL']);
  assert.equal((await runHere(['verify', ...on(store)])).code, 1);
  await done('token', 'create', 'my-app', ...on(store));
  await done('verify', ...on(store));
});
