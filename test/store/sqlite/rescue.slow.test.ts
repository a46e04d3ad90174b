import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { compactTime } from '../../../src/disk/files.ts';
import {
  plant,
  rareHeartbeats,
  sabotaging,
  statusAndCode,
  withLimits,
} from '../../helpers/faults.ts';
import { createUntilRefused } from '../../helpers/load.ts';
import { mounted, mountedDisk } from '../../helpers/mounts.ts';
import {
  create,
  oneThread,
  type ServerWithStore,
  startServer,
  startServerOnNewStore,
  storePath,
  takesNoCode,
  temporaryFolder,
} from '../../helpers/program.ts';
import { done, on } from '../../helpers/run-here.ts';
import { newStore, storedIds } from '../../helpers/store-file.ts';

/** What a server says that ends with exit code 1. */
async function lastWords({ child, stderr }: ServerWithStore): Promise<string> {
  if (child.exitCode === null) await once(child, 'close');
  assert.equal(child.exitCode, 1);
  const fatal = stderr()
    .split('\n')
    .find((line) => line.includes('"level":"fatal"'));
  assert(fatal, stderr());
  const { failure } = JSON.parse(fatal);
  assert.match(failure, /have been removed or replaced while it was open; /);
  return failure;
}

/** Creates plants that are in the WAL alone. @returns their ids */
async function createInWal(t: TestContext, server: ServerWithStore, count = 20, name = 'Alder') {
  const ids = Array.from({ length: count }, (_, index) => 101 + index);
  for (const id of ids) assert.equal((await create(server.plantsUrl, { id, name })).status, 200);
  const withoutWal = await storePath(t);
  copyFileSync(server.store, withoutWal);
  assert.deepEqual(storedIds(withoutWal), []);
  return ids;
}

/** The service may have ended: a test write before the create finds out, too. */
async function refusesNext({ plantsUrl }: ServerWithStore): Promise<void> {
  const reply = await create(plantsUrl, plant(1)).catch(() => undefined);
  if (reply) assert.deepEqual(await statusAndCode(reply), [503, 50301]);
}

interface Rescued {
  readonly store: string;
  /** What it had acknowledged, in its WAL alone. */
  readonly ids: readonly number[];
  /** Its last words. */
  readonly says: string;
}

/** A service to whose files something is done, and which has ended of it. */
async function rescued(
  t: TestContext,
  harm: (store: string) => unknown,
  { folder = '', plants = 20, name = 'Alder' } = {},
): Promise<Rescued> {
  const store = folder === '' ? await storePath(t) : join(folder, 'plants.db');
  const server = { ...(await startServer(t, store, oneThread)), store };
  const ids = await createInWal(t, server, plants, name);
  await harm(store);
  await refusesNext(server);
  return { store, ids, says: await lastWords(server) };
}

/** The name of the pair that the message names. */
function pairIn(says: string): string {
  const [, pair, wal] = /; every stored plant is in (\S+) and (\S+);/.exec(says) ?? [];
  assert(pair, says);
  assert.equal(wal, `${pair}-wal`);
  for (const file of [pair, wal]) assert.equal(statSync(file).mode & 0o777, 0o600);
  return pair;
}

/** Types the command that the message names. */
async function typeCommandIn(says: string): Promise<void> {
  const [, line = ''] = /"plant-store (copy [^"]+)"/.exec(says) ?? [];
  await done(...line.split(' '));
}

/** The plant that was refused is stored or not. */
function assertHolds(store: string, acknowledged: readonly number[]): void {
  assert.deepEqual(
    storedIds(store).filter((id) => id !== 1),
    acknowledged,
  );
}

function leaveRoom(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder);
  writeFileSync(join(folder, 'ballast'), Buffer.alloc(bavail * bsize - bytes));
}

/** The store first: without its WAL alone, the store would be made whole. */
function removeAll(store: string): void {
  for (const end of ['', '-wal', '-shm', '-sync']) rmSync(store + end);
}

const removed: Readonly<Record<string, (store: string) => void>> = {
  'its WAL is removed': (store) => rmSync(`${store}-wal`),
  'its WAL and the index are removed': (store) => {
    for (const end of ['-wal', '-shm']) rmSync(store + end);
  },
  'the index of its WAL is removed': (store) => rmSync(`${store}-shm`),
  'a program has put an empty WAL in the place of its WAL': (store) => {
    writeFileSync(`${store}.empty`, '');
    renameSync(`${store}.empty`, `${store}-wal`);
  },
};

for (const [what, remove] of Object.entries(removed)) {
  test(`when ${what}, the service puts the WAL back, and the store has every acknowledged plant`, async (t) => {
    const { store, ids, says } = await rescued(t, remove);
    assert(says.endsWith(`; the store at ${store} is whole again`), says);
    assert.equal(statSync(`${store}-wal`).mode & 0o777, 0o600);
    assertHolds(store, ids);
    await done('token', 'create', 'my-app', ...on(store));
    assert.deepEqual(readdirSync(dirname(store)), ['plants.db', 'plants.db-sync']);
  });
}

test('when the index of the WAL is removed, and another service makes a new one, neither writes over a plant of the other', {
  skip: takesNoCode,
}, async (t) => {
  const store = await storePath(t);
  const first = { ...(await startServer(t, store, oneThread, withLimits(rareHeartbeats))), store };
  const ids = await createInWal(t, first);
  rmSync(`${store}-shm`);
  const second = await startServer(t, store, oneThread);
  // Into more pages of the WAL than the first service knows of.
  const idsOfSecond = ids.flatMap((id) => [id + 100, id + 200, id + 300]);
  for (const id of idsOfSecond)
    assert.equal((await create(second.plantsUrl, plant(id))).status, 200);

  await refusesNext(first);

  const says = await lastWords(first);
  assert(says.endsWith(`; the store at ${store} is whole again`), says);
  // From now on, only the WAL has the last plants.
  await second.stop('SIGKILL');
  const all = [...ids, ...idsOfSecond].sort((one, other) => one - other);
  assertHolds(store, all);
});

test('when all files are removed under load, the service saves them as a pair, and the command in the log makes a store of every acknowledged plant', async (t) => {
  const server = await startServerOnNewStore(t);
  let creates = 0;
  const { acknowledged, refusals } = await createUntilRefused(server.plantsUrl, () => 'Alder', {
    clients: 4,
    afterEach() {
      if ((creates += 1) === 100) removeAll(server.store);
    },
  });
  assert(acknowledged.length >= 100);
  for (const [status] of refusals) assert.equal(status, 503);

  const says = await lastWords(server);

  const pair = pairIn(says);
  assert.deepEqual(
    readdirSync(dirname(server.store)).sort(),
    [pair, `${pair}-wal`].map((file) => basename(file)),
  );
  await typeCommandIn(says);
  for (const store of [server.store, pair]) {
    const ids = new Set(storedIds(store));
    assert.deepEqual(
      acknowledged.filter((id) => !ids.has(id)),
      [],
    );
  }
});

test('when the store alone is removed, the service saves a pair, which replaces no file that has its name', async (t) => {
  const taken: string[] = [];
  const { store, ids, says } = await rescued(t, (path) => {
    for (let second = 0; second < 100; second += 1)
      taken.push(`${path}.saved-${compactTime(new Date(Date.now() + second * 1_000))}`);
    for (const file of taken) writeFileSync(file, 'kept');
    rmSync(path);
  });
  assertHolds(pairIn(says), ids);
  for (const file of taken) assert.equal(readFileSync(file, 'utf8'), 'kept');
  // The WAL of the removed store stands beside the new store.
  assert(existsSync(`${store}-wal`));
  await typeCommandIn(says);
  assertHolds(store, ids);
});

for (const end of ['', '-wal'])
  test(`when another file takes the place of plants.db${end}, the service saves a pair, and leaves the files alone`, async (t) => {
    const other = await newStore(t, 3);
    let before: Buffer[] = [];
    const filesOf = (store: string) => ['', end].map((one) => readFileSync(store + one));
    const { store, ids, says } = await rescued(t, (path) => {
      renameSync(other, path + end);
      before = filesOf(path);
    });
    assert.deepEqual(filesOf(store), before);
    assertHolds(pairIn(says), ids);
  });

test('when a service is stopped before it has noticed that its files are gone, it saves them, too, and ends with exit code 1', async (t) => {
  const server = await startServerOnNewStore(t, ...oneThread);
  const ids = await createInWal(t, server);
  removeAll(server.store);

  await server.stop();

  assertHolds(pairIn(await lastWords(server)), ids);
});

test('when the disk of the store is unmounted, nothing is written into the bare folder, and the disk has every acknowledged plant', async (t) => {
  const disk = mountedDisk(t, 16 * 2 ** 20);
  if (disk === undefined) return;
  const unmount = () => assert.equal(spawnSync('umount', ['--lazy', disk.at]).status, 0);
  const { store, ids, says } = await rescued(t, unmount, { folder: disk.at });
  assert(says.includes(`could not be saved: the folder ${disk.at} is gone, or its disk`), says);
  assert.deepEqual(readdirSync(disk.at), []);
  const image = join(dirname(disk.at), 'image');
  assert.equal(spawnSync('mount', ['-o', 'loop', image, disk.at]).status, 0);
  assertHolds(store, ids);
});

test('when the folder of the store is removed, the service says so, and makes no other folder', async (t) => {
  const above = await temporaryFolder(t);
  const folder = join(above, 'data');
  const remove = () => rmSync(folder, { recursive: true, maxRetries: 10 });
  const { says } = await rescued(t, remove, { folder });
  assert.match(says, /could not be saved: the folder \S+\/data is gone, or its/);
  assert.deepEqual(readdirSync(above), []);
});

test('on a disk without room for the removed WAL, the service copies the WAL into the store', async (t) => {
  const folder = mounted(t, 'size=8m');
  if (folder === undefined) return;
  const { store, ids, says } = await rescued(
    t,
    (path) => {
      leaveRoom(folder, statSync(`${path}-wal`).size / 2);
      rmSync(`${path}-wal`);
    },
    { folder, plants: 200 },
  );
  assert(says.endsWith(`; the store at ${store} is whole again`), says);
  assert.equal(existsSync(`${store}-wal`), false);
  assertHolds(store, ids);
});

test('on a disk without room for a pair, the service says how much room a pair takes, and leaves nothing', async (t) => {
  const folder = mounted(t, 'size=8m');
  if (folder === undefined) return;
  const { says } = await rescued(
    t,
    (store) => {
      leaveRoom(folder, 2 ** 19);
      removeAll(store);
    },
    { folder, plants: 100, name: 'leaf '.repeat(2_000) },
  );
  const needs = `the disk is too full: \\S+ MiB are needed in ${folder}, and \\S+ KiB are free`;
  assert.match(says, new RegExp(`; the plants could not be saved: ${needs}$`));
  assert.deepEqual(readdirSync(folder), ['ballast']);
});

test('a pair of which the disk takes only the first file is removed', async (t) => {
  const folder = mounted(t, 'size=8m,nr_inodes=20');
  if (folder === undefined) return;
  let fillers = 0;
  const { says } = await rescued(
    t,
    (store) => {
      // A link takes an inode of this file system, too. The removal gives the one of the notes back.
      fillers = statfsSync(folder).ffree - 1;
      for (let file = 0; file < fillers; file += 1) writeFileSync(join(folder, `${file}`), '');
      removeAll(store);
    },
    { folder },
  );
  assert.match(says, /could not be saved: ENOSPC.* link .*saved-\w+'$/);
  assert.equal(readdirSync(folder).length, fillers);
});

/** A server whose copies can be sabotaged. @see ../helpers/sabotage.ts */
async function startSabotaged(t: TestContext, kind: string, limits = {}, args = oneThread) {
  const flag = join(await temporaryFolder(t), 'sabotage');
  const store = await storePath(t);
  const variables = { ...sabotaging(kind, flag), ...limits };
  const server = { ...(await startServer(t, store, args, variables)), store };
  const ids = await createInWal(t, server);
  writeFileSync(flag, '');
  removeAll(store);
  await refusesNext(server);
  return { ...server, ids, heal: () => rmSync(flag) };
}

test('while the files are copied, clients get 503 at once, and the service ends after the copy', {
  skip: takesNoCode,
}, async (t) => {
  const args = [...oneThread, '--commit-timeout', '1m'];
  const server = await startSabotaged(t, 'copy of the files hangs', {}, args);
  const startedMs = performance.now();
  const reply = await create(server.plantsUrl, plant(2));
  assert.deepEqual(await statusAndCode(reply), [503, 50301]);
  assert(performance.now() - startedMs < 30_000);
  server.heal();
  assertHolds(pairIn(await lastWords(server)), server.ids);
});

test('a service does not wait for long for a disk that does not return from the copy', {
  skip: takesNoCode,
}, async (t) => {
  const limits = withLimits({ sqlite: { rescueMs: 100 } });
  const server = await startSabotaged(t, 'copy of the files hangs', limits);
  assert.match(await lastWords(server), /; saving them has not ended in 0\.2 s$/);
});

test('a copy that takes too long is given up and removed', { skip: takesNoCode }, async (t) => {
  const server = await startSabotaged(t, 'copy of the files takes long');
  const says = await lastWords(server);
  assert.match(says, /; the plants could not be saved: the copy takes longer than 1 min$/);
  assert.deepEqual(readdirSync(dirname(server.store)), []);
});
