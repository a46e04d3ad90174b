import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { startLitestream, whyNoLitestream } from '../helpers/litestream.ts';
import { mountedThinDisk } from '../helpers/mounts.ts';
import {
  create,
  inReverse,
  oneThread,
  runProgram,
  startServer,
  temporaryFolder,
} from '../helpers/program.ts';
import { done, on, runHere } from '../helpers/run-here.ts';

/*
 * A sync fails because the disk below the file system has no room for a moment. The restart must
 * not count on pages that only the memory has: then a power cut loses them.
 */

/** Creates plants of some 10 KB, until a create fails or there are so many. @returns their ids */
async function createUntil(plantsUrl: string, from: number, plants: number): Promise<number[]> {
  const acknowledged: number[] = [];
  let id = from;
  let isOver = false;
  const client = async () => {
    while (!isOver && id < from + plants) {
      const mine = (id += 1);
      const reply = await create(plantsUrl, {
        id: mine,
        name: `${mine}`.padEnd(10_000, 'x'),
      }).catch(() => undefined);
      if (reply?.status === 200) acknowledged.push(mine);
      else isOver = true;
    }
  };
  await Promise.all(Array.from({ length: 8 }, client));
  return acknowledged;
}

type Disk = NonNullable<ReturnType<typeof mountedThinDisk>>;

/** A store whose sync has failed, with the ids of its acknowledged plants. The disk is full. */
async function failSync(
  t: TestContext,
  disk: Disk,
  what: 'WAL' | 'store',
  whenOpen: (store: string) => Promise<unknown> = async () => undefined,
) {
  const store = join(disk.at, 'plants.db');
  const { child, plantsUrl, stderr } = await startServer(t, store, oneThread);
  // After a checkpoint, the WAL has its room, and the store grows on.
  const before = await createUntil(plantsUrl, 0, what === 'WAL' ? 20 : 800);
  await whenOpen(store);
  disk.fill();
  const exit = once(child, 'exit');
  const acknowledged = [...before, ...(await createUntil(plantsUrl, 10_000, 1e9))];
  await exit;
  assert.equal(child.exitCode, 1);
  // SQLite itself syncs the store at the end of a checkpoint.
  assert.match(stderr(), new RegExp(`the sync of the ${what} has failed|disk I/O error`));
  return { store, acknowledged };
}

function assertHolds(file: string, acknowledged: readonly number[]): void {
  const db = new DatabaseSync(file);
  assert.equal(db.prepare('PRAGMA integrity_check').get()?.['integrity_check'], 'ok');
  const stored = new Set(
    db
      .prepare('SELECT id FROM plants')
      .all()
      .map(({ id }) => id),
  );
  db.close();
  assert.deepEqual(
    acknowledged.filter((id) => !stored.has(id)),
    [],
  );
}

type Other = (t: TestContext, store: string) => Promise<unknown>;

function connect(t: TestContext, store: string): DatabaseSync {
  const db = new DatabaseSync(store, { readOnly: true });
  t.after(() => db.close());
  return db;
}

/** What else has the store open, or had, over the restart. */
const others: Readonly<Record<string, Other>> = {
  'no other program': async () => undefined,
  'the transaction of a reader': async (t, store) =>
    connect(t, store).exec('BEGIN; SELECT count(*) FROM plants'),
  'an idle connection': async (t, store) => connect(t, store).exec('SELECT count(*) FROM plants'),
  'a process that has left no note': async () => undefined,
  'another service': (t, store) => startServer(t, store, oneThread),
  Litestream: async (t, store) => {
    const replica = join(await temporaryFolder(t), 'replica');
    await startLitestream(t, { store, replica }).inSync();
  },
};

for (const what of ['WAL', 'store'] as const) {
  for (const [name, open] of Object.entries(others)) {
    test(`a failed sync of the ${what}, a restart beside ${name}, and a power cut lose nothing`, {
      skip: name === 'Litestream' && whyNoLitestream(),
    }, async (given) => {
      const disk = mountedThinDisk(given, 24 * 2 ** 20);
      if (disk === undefined) return;
      const t = inReverse(given) as TestContext;
      const { store, acknowledged } = await failSync(t, disk, what, (path) => open(t, path));
      if (name === 'a process that has left no note') rmSync(`${store}-sync`);
      disk.makeRoom();

      const { plantsUrl, stderr } = await startServer(t, store, oneThread);
      assert.match(stderr(), /a sync had failed; the disk has everything again/);
      const after = await createUntil(plantsUrl, 20_000, 100);
      assert.equal(after.length, 100);

      assertHolds(join(disk.powerCut(), 'plants.db'), [...acknowledged, ...after]);
    });
  }
}

test('after a failed sync, verify and doctor tell it, and the first command that writes repairs the store, once it can', async (given) => {
  const disk = mountedThinDisk(given, 24 * 2 ** 20);
  if (disk === undefined) return;
  const t = inReverse(given) as TestContext;
  const { store, acknowledged } = await failSync(t, disk, 'store');
  const says =
    /a sync of the (store|WAL)( and of the WAL)? has failed, and the disk may lack pages/;

  const verify = await runHere(['verify', ...on(store)]);
  assert.deepEqual([verify.code, says.test(verify.stderr)], [1, true], verify.stderr);
  const doctor = await runHere(['doctor', ...on(store)]);
  assert.match(doctor.stdout, new RegExp(`^error +sync +${says.source}`, 'm'));
  const createToken = () => runProgram(['token', 'create', 'my-app', ...on(store)]);
  const full = await createToken();
  assert.match(
    full.stderr,
    /the repair is not possible now: .+\. Nothing that was acknowledged is lost\./,
  );
  assert.equal(full.code, 1);
  const notes = readFileSync(`${store}-sync`, 'utf8');
  writeFileSync(`${store}-sync`, notes.replaceAll(/[0-9a-f]{8}-/g, '00000000-'));
  await done('verify', ...on(store));
  writeFileSync(`${store}-sync`, notes);
  disk.makeRoom();
  assert.equal((await createToken()).code, 0);

  await done('verify', ...on(store));
  assertHolds(join(disk.powerCut(), 'plants.db'), acknowledged);
});

test('a backup takes the place of a store whose sync has failed', async (given) => {
  const disk = mountedThinDisk(given, 24 * 2 ** 20);
  if (disk === undefined) return;
  const t = inReverse(given) as TestContext;
  const backup = join(await temporaryFolder(t), 'backup.db');
  const { store } = await failSync(t, disk, 'WAL', (path) => done('backup', backup, ...on(path)));
  disk.makeRoom();
  await done('restore', backup, '--overwrite', ...on(store));
  await done('verify', ...on(store));
  const left = join(disk.powerCut(), 'plants.db');
  assertHolds(
    left,
    Array.from({ length: 20 }, (_, index) => 1 + index),
  );
});
