import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { assertEndsByItself, plant, statusAndCode } from '../../helpers/faults.ts';
import { keepCreating } from '../../helpers/load.ts';
import { mounted, mountedDisk } from '../../helpers/mounts.ts';
import {
  create,
  oneThread,
  type RunningServer,
  startServer,
  startServerOnNewStore,
} from '../../helpers/program.ts';
import { on, refused } from '../../helpers/run-here.ts';
import { newStore, storedPlants } from '../../helpers/store-file.ts';

const idsIn = (store: string) => storedPlants(store).map(([id]) => Number(id));

/**
 * Creates plants until a create is refused. @returns the ids of the acknowledged plants, and the
 * refusal
 */
async function createUntilRefused({ plantsUrl }: RunningServer, name: string) {
  const acknowledged: number[] = [];
  for (let id = 1; ; id += 1) {
    const reply = await create(plantsUrl, { id, name });
    if (reply.status !== 200) return { acknowledged, refusal: await statusAndCode(reply) };
    acknowledged.push(id);
  }
}

test('on a full disk a create gets 50301, the first one after there is space again gets 200, and the log has the cause', async (t) => {
  const folder = mounted(t, 'size=8m');
  if (folder === undefined) return;
  const store = join(folder, 'plants.db');
  const server = await startServer(t, store, oneThread);
  const ballast = join(folder, 'ballast');
  // Without it, there is room for the pages of the WAL in the file, as a command that writes asks for.
  writeFileSync(ballast, Buffer.alloc(4 * 2 ** 20));

  const name = 'leaf '.repeat(2_000);
  const { acknowledged, refusal } = await createUntilRefused(server, name);
  assert.deepEqual(refusal, [503, 50301]);
  const another = await create(server.plantsUrl, { id: -1, name });
  assert.deepEqual(await statusAndCode(another), [503, 50301]);
  rmSync(ballast);

  assert.equal((await create(server.plantsUrl, { id: -2, name })).status, 200);
  await server.logged((log) => log.includes('with code 50301: database or disk is full; a retry'));
  await server.logged((log) => /stored again after .*; requests refused: [1-9]/.test(log));
  assert.equal(server.child.exitCode, null);
  assert.deepEqual(idsIn(store), [-2, ...acknowledged]);
  assert.equal(await server.stop(), 0);
  assert.equal(idsIn(store).length, acknowledged.length + 1);
});

test('a service that starts on a full disk answers retries, refuses new plants, and stores them once there is space', async (t) => {
  const folder = mounted(t, 'size=4m');
  if (folder === undefined) return;
  const store = join(folder, 'plants.db');
  const killed = await startServer(t, store, oneThread);
  const ballast = join(folder, 'ballast');
  writeFileSync(ballast, Buffer.alloc(2 ** 20));
  const name = 'leaf '.repeat(2_000);
  const { acknowledged } = await createUntilRefused(killed, name);
  killed.child.kill('SIGKILL');
  await once(killed.child, 'exit');

  const server = await startServer(t, store, oneThread);
  // Before the retries, which would store what was lost.
  assert.deepEqual(idsIn(store), acknowledged);
  for (const id of acknowledged)
    assert.equal((await create(server.plantsUrl, { id, name })).status, 200);
  const refused = await create(server.plantsUrl, { id: -1, name });
  assert.deepEqual(await statusAndCode(refused), [503, 50301]);
  rmSync(ballast);
  assert.equal((await create(server.plantsUrl, { id: -2, name })).status, 200);
  assert.equal(await server.stop(), 0);
  assert.deepEqual(idsIn(store), [-2, ...acknowledged]);
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
  assert.match(server.stderr(), /disk I\/O error.*no note of that could be left beside the store/);
  const says = /: cannot open the store at .*: EROFS: read-only file system, (open|access) /;
  await refused(says, 'serve', '--port', '0', ...on(store));
});

const removals: Record<string, (store: string) => void> = {
  'the store is removed': (store) => rmSync(store),
  'its log is removed': (store) => rmSync(`${store}-wal`),
  'another file is put in its place': (store) => {
    writeFileSync(`${store}.other`, readFileSync(store));
    renameSync(`${store}.other`, store);
  },
};

for (const [what, remove] of Object.entries(removals)) {
  test(`when ${what} under a running service, the next create gets 50301 and the service ends`, async (t) => {
    const server = await startServerOnNewStore(t, ...oneThread);
    assert.equal((await create(server.plantsUrl, plant(1))).status, 200);

    remove(server.store);

    assert.deepEqual(await statusAndCode(await create(server.plantsUrl, plant(2))), [503, 50301]);
    await assertEndsByItself(server, /have been removed or replaced while it was open/);
  });
}

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
