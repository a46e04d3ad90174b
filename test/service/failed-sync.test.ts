import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { startLitestream, whyNoLitestream } from '../helpers/litestream.ts';
import { mountedThinDisk } from '../helpers/mounts.ts';
import { create, inReverse, oneThread, startServer, temporaryFolder } from '../helpers/program.ts';

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

/** A store whose sync has failed, with the ids of its acknowledged plants. The disk has room. */
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
  disk.makeRoom();
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

/** What else has the store open, over the restart. */
const others: Readonly<Record<string, Other>> = {
  'no other program': async () => undefined,
  'the transaction of a reader': async (t, store) =>
    connect(t, store).exec('BEGIN; SELECT count(*) FROM plants'),
  'an idle connection': async (t, store) => connect(t, store).exec('SELECT count(*) FROM plants'),
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

      const { plantsUrl, stderr } = await startServer(t, store, oneThread);
      assert.match(stderr(), /a sync had failed; the disk has everything again/);
      const after = await createUntil(plantsUrl, 20_000, 100);
      assert.equal(after.length, 100);

      assertHolds(join(disk.powerCut(), 'plants.db'), [...acknowledged, ...after]);
    });
  }
}
