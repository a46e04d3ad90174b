import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { int64Max, int64Min } from '../../../src/contract/int64.ts';
import { limits } from '../../../src/limits.ts';
import { StoreError } from '../../../src/store/errors.ts';
import { backUp } from '../../../src/store/sqlite/backup.ts';
import { claimSqliteStore } from '../../../src/store/sqlite/claim.ts';
import { sharedWritesIn, sharedWritesMemory } from '../../../src/store/sqlite/shared-writes.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { mounted } from '../../helpers/mounts.ts';
import { pause } from '../../helpers/pause.ts';
import { storePath, temporaryFolder } from '../../helpers/program.ts';
import { alterStore, newStore, storedPlants, walSalt } from '../../helpers/store-file.ts';
import { storeSuite } from '../store-suite.ts';

const lockMs = 5_000;
const alder = { id: 1n, name: 'Alder', tag: undefined, createdBy: 0 };

storeSuite('sqlite', async (owner) => {
  const store = await openSqliteStore(await storePath(owner), { callMs: lockMs, mayMake: true });
  owner.after(() => store.close());
  return store;
});

test('sqlite: the file is plain SQLite, in WAL mode, with strict tables', async (t) => {
  const path = await storePath(t);
  await using store = await openSqliteStore(path, { callMs: lockMs, mayMake: true });
  await store.createPlants([alder]);
  const db = new DatabaseSync(path, { readOnly: true });
  t.after(() => db.close());
  assert.equal(db.prepare('PRAGMA journal_mode').get()?.['journal_mode'], 'wal');
  const strict =
    "SELECT count(*) AS n FROM pragma_table_list WHERE name IN ('plants', 'tokens') AND strict";
  assert.equal(db.prepare(strict).get()?.['n'], 2);
  assert.equal(db.prepare('SELECT name FROM plants WHERE id = 1').get()?.['name'], 'Alder');
});

test('sqlite: the journal has the id of each plant that a transaction stored, in the order of the transactions', async (t) => {
  const path = await storePath(t);
  await using store = await openSqliteStore(path, { callMs: lockMs, mayMake: true });
  const plantsWith = (ids: readonly bigint[]) => ids.map((id) => ({ ...alder, id }));
  await store.createPlants(plantsWith([int64Max, -1n]));
  await store.createPlants(plantsWith([-1n, 7n, int64Max, int64Min]));
  await store.createPlants(plantsWith([7n]));
  await store.createPlants([{ ...alder, id: 3n, createdAtMs: 5 }]);

  using db = new DatabaseSync(path, { readOnly: true });
  const journal = db.prepare('SELECT ids FROM arrivals ORDER BY seq').all();
  assert.deepEqual(
    journal.map(({ ids }) => [...new BigInt64Array(Uint8Array.from(ids as Uint8Array).buffer)]),
    [[int64Max, -1n], [7n, int64Min], [3n]],
  );
});

test('sqlite: a clock that was behind for a while hides no plant from a search for new plants', async (t) => {
  const path = await storePath(t);
  await using store = await openSqliteStore(path, { callMs: lockMs, mayMake: true });
  const dayMs = 24 * 3_600_000;
  const rightMs = Date.now() + 300 * dayMs;
  const atRightTime = (id: number, atMs: number) =>
    alterStore(
      path,
      `INSERT INTO plants VALUES (${id}, 'Alder', NULL, ${atMs}, 0);
       INSERT INTO arrivals (created_at, ids) VALUES (${atMs}, x'0${id}00000000000000')`,
    );
  atRightTime(1, rightMs);
  // The clock of the store is 300 days behind.
  await store.createPlants([{ ...alder, id: 2n }]);
  atRightTime(3, rightMs + dayMs);
  const idsOf = async (times: { sinceMs?: number; untilMs?: number }) => {
    const page = await store.searchPlants({
      isNewestFirst: true,
      limit: 9,
      ...times,
      budgetMs: 1_000,
    });
    return page?.plants.map(({ id }) => Number(id));
  };
  assert.deepEqual(await idsOf({ sinceMs: rightMs - dayMs }), [3, 1]);
  assert.deepEqual(await idsOf({ untilMs: rightMs + 1 }), [2, 1]);
  assert.deepEqual(await idsOf({ untilMs: rightMs - dayMs }), [2]);
});

test('sqlite: a WAL that was copied whole begins again without a further create, for readers of its file', async (t) => {
  const path = await storePath(t);
  await using store = await openSqliteStore(path, { callMs: lockMs, mayMake: true });
  await store.createPlants([{ ...alder, id: -1n }]);
  const before = walSalt(path);
  // Large plants: few plants, many pages.
  const name = 'x'.repeat((limits.sqlite.checkpointPages / 4) * limits.sqlite.pageBytes);
  for (const id of [1n, 2n, 3n, 4n]) await store.createPlants([{ ...alder, id, name }]);
  const signal = AbortSignal.timeout(60_000);
  // A heartbeat begins it.
  while ((await store.lastBeat()) === undefined) await pause(signal);
  assert.equal(walSalt(path), (before + 1) % 2 ** 32);
});

test('sqlite: a disk that is full when the index of the log must grow is waited for, like any full disk', async (t) => {
  const folder = mounted(t, 'size=48m');
  if (folder === undefined) return;
  const path = join(folder, 'plants.db');
  const store = await openSqliteStore(path, { callMs: lockMs, mayMake: true });
  t.after(() => store.close());
  // A reader keeps the WAL from restarting. Its index grows with frame 4,063; a create before that
  // frame takes a frame or two.
  using reader = new DatabaseSync(path, { readOnly: true });
  reader.exec('BEGIN; SELECT count(*) FROM plants');
  const frames = () => Math.floor(statSync(`${path}-wal`).size / 4_120);
  await store.createPlants([{ ...alder, id: 0n, name: 'x'.repeat(4_000 * 4_096) }]);
  for (let id = 1n; frames() < 4_056; id += 1n) await store.createPlants([{ ...alder, id }]);
  assert.equal(statSync(`${path}-shm`).size, 32_768);
  const { bavail, bsize } = statfsSync(folder);
  writeFileSync(join(folder, 'ballast'), Buffer.alloc(bavail * bsize - 28_672));
  const fill = async () => {
    for (let id = -1n; ; id -= 1n) await store.createPlants([{ ...alder, id }]);
  };

  await assert.rejects(fill(), {
    name: 'StoreError',
    failure: 'unavailable',
    message: 'disk I/O error',
  });
  await assert.rejects(store.createPlants([{ ...alder, id: -100n }]), { failure: 'unavailable' });
  rmSync(join(folder, 'ballast'));

  assert.deepEqual(await store.createPlants([{ ...alder, id: -100n }]), ['created']);
});

test('sqlite: a batch that fails half-way is rolled back whole, and the next one works', async (t) => {
  const path = await storePath(t);
  await using store = await openSqliteStore(path, { callMs: lockMs, mayMake: true });
  // The least integer has no absolute value.
  const overflow = "abs(CASE name WHEN 'large' THEN -9223372036854775808 END)";
  alterStore(path, `CREATE INDEX refuse_large ON plants (${overflow})`);
  await assert.rejects(store.createPlants([alder, { ...alder, id: 2n, name: 'large' }]), {
    name: 'StoreError',
  });
  assert.equal((await store.countMatches({ budgetMs: 1_000 })).plants, 0);
  assert.deepEqual(await store.createPlants([alder]), ['created']);
});

test('sqlite: a trigger that is made beside an open store stores nothing, and is named until it is gone', async (t) => {
  const path = await storePath(t);
  await using store = await openSqliteStore(path, { callMs: lockMs, mayMake: true });
  assert.deepEqual(await store.createPlants([alder]), ['created']);
  const yew = { ...alder, id: 2n };
  for (const does of ['DELETE FROM plants WHERE id = new.id', 'SELECT 1']) {
    alterStore(path, `CREATE TRIGGER "thief's" AFTER INSERT ON PLANTS BEGIN ${does}; END`);
    await assert.rejects(store.createPlants([yew]), {
      failure: 'unavailable',
      message: `the store has the trigger thief's on PLANTS, which may change or remove what is stored; find out where this comes from, and remove it: sqlite3 ${path} 'DROP TRIGGER "thief'\\''s";'`,
    });
    assert.deepEqual(await store.beat(Date.now()), undefined);
    alterStore(path, `DROP TRIGGER "thief's"`);
    await assert.rejects(store.createPlants([yew]), {
      failure: 'unavailable',
      message: /it is gone/,
    });
    assert.deepEqual(storedPlants(path), [[1n, alder.name, alder.tag ?? null]]);
  }
  alterStore(
    path,
    `CREATE TABLE others (id); CREATE TRIGGER theirs AFTER INSERT ON others BEGIN SELECT 1; END;
     CREATE VIEW seen AS SELECT * FROM plants;
     CREATE TRIGGER through INSTEAD OF INSERT ON seen BEGIN SELECT 1; END`,
  );
  assert.deepEqual(await store.createPlants([yew]), ['created']);
  await (await openSqliteStore(path, { callMs: lockMs, mayMake: true })).close();
});

test('sqlite: what a killed process wrote and had not synced is synced before it can be read', async (t) => {
  const folder = await temporaryFolder(t);
  const path = join(folder, 'plants.db');
  await (await openSqliteStore(path, { callMs: lockMs, mayMake: true })).close();
  const unsynced = new DatabaseSync(path);
  unsynced.exec(
    "PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0; INSERT INTO plants VALUES (1, 'Alder', NULL, 0, 0)",
  );
  t.after(() => unsynced.close());
  // The plant is in the log alone; that it reaches the database file shows that the log was
  // checkpointed, which syncs it first.
  assert(!readFileSync(path).includes('Alder'));
  await using store = await openSqliteStore(path, { callMs: lockMs, mayMake: true });
  assert(readFileSync(path).includes('Alder'));
  assert.deepEqual(await store.createPlants([alder]), ['same']);
});

test('sqlite: two processes that make the same store at once both get it', async (t) => {
  const path = join(await temporaryFolder(t), 'deep', 'folder', 'plants.db');
  const open = async () => {
    const store = await openSqliteStore(path, { callMs: lockMs, mayMake: true });
    t.after(() => store.close());
    return store;
  };
  const stores = await Promise.all([open(), open(), open()]);
  assert.equal(stores.filter(({ isNew }) => isNew).length, 1);
  const outcomes = await Promise.all(stores.map((store) => store.createPlants([alder])));
  assert.deepEqual(outcomes.flat().sort(), ['created', 'same', 'same']);
});

test('sqlite: the last of the threads that wait for the lock syncs for all of them', async () => {
  const memory = sharedWritesMemory();
  const [first, last] = [sharedWritesIn(memory), sharedWritesIn(memory)];
  const ticket = await first.acquire();
  const lastHasLock = last.acquire();
  const firstSynced = first.synced(first.numberCommit());
  assert.equal(first.isLast(), false);
  first.lock.release(ticket);

  await lastHasLock;
  assert.equal(last.isLast(), true);
  const lastCommit = last.lastCommit();
  const later = last.numberCommit();
  last.noteSynced(lastCommit);

  assert.equal(await firstSynced, true);
  assert.equal(await last.synced(later), false);
});

test('sqlite: a thread whose transaction waits for the sync of another thread gets the failure of that sync', async () => {
  const memory = sharedWritesMemory();
  const [first, last] = [sharedWritesIn(memory), sharedWritesIn(memory)];
  const synced = first.synced(first.numberCommit());
  const failure = new StoreError('fatal', 'the sync of the WAL has failed');

  last.fail(failure);

  await assert.rejects(synced, failure);
});

test('sqlite: no thread writes before the end of a sync, which may fail', async (t) => {
  const path = await storePath(t);
  const store = await openSqliteStore(path, { callMs: lockMs, mayMake: true });
  const shared = sharedWritesIn(store.share(new Worker('', { eval: true })).memory);
  const failure = new StoreError('fatal', 'the sync of the WAL has failed');
  const ticket = await shared.acquire();
  shared.lock.allowTakeover(ticket);
  const refused = assert.rejects(store.createPlants([alder]), failure);
  await new Promise(setImmediate);

  shared.fail(failure);
  shared.lock.release(ticket);

  await refused;
  assert.deepEqual(storedPlants(path), []);
});

for (const [what, call, isHeld] of [
  ['waits for the lock', 'void shared.acquire()', true],
  ['syncs', 'shared.lock.allowTakeover(await shared.acquire())', false],
] as const) {
  test(`sqlite: a thread that ${what} and stands still holds up no other thread`, {
    timeout: 300_000,
  }, async (t) => {
    await using store = await openSqliteStore(await storePath(t), {
      callMs: lockMs,
      mayMake: true,
    });
    const module = new URL('../../../src/store/sqlite/shared-writes.ts', import.meta.url);
    const script = `
      const { parentPort } = require('node:worker_threads');
      parentPort.on('message', async (memory) => {
        const shared = (await import('${module}')).sharedWritesIn(memory);
        ${call};
        parentPort.postMessage('has called');
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      });`;
    const still = new Worker(script, { eval: true });
    t.after(() => still.terminate());
    const { memory } = store.share(still);
    const { lock } = sharedWritesIn(memory);
    const ticket = isHeld ? await lock.acquire() : undefined;
    still.postMessage(memory);
    await once(still, 'message');
    const created = store.createPlants([alder]);

    if (ticket) lock.release(ticket);

    assert.deepEqual(await created, ['created']);
  });
}

test('sqlite: a defect on the thread of the store is told with its stack there', async (t) => {
  await using store = await openSqliteStore(await storePath(t), { callMs: lockMs, mayMake: true });
  store.share(new Worker('', { eval: true }));
  await assert.rejects(store.beat('now' as never), ({ failure, cause }) => {
    assert.equal(failure, 'defect');
    assert.match(cause.stack, /transact/);
    return true;
  });
});

test('sqlite: a copy is of one moment and never starts over, although another process writes between its steps', async (t) => {
  // Some 20 MB, so that the copy takes several steps.
  const path = await newStore(t, 2_000, 10_000);
  const stored = storedPlants(path);
  const copy = join(await temporaryFolder(t), 'copy.db');
  using writer = new DatabaseSync(path);
  const insert = writer.prepare(
    `INSERT INTO plants SELECT max(id) + 1, 'later', NULL, 0, 0 FROM plants`,
  );
  const steps: number[] = [];
  await backUp(path, copy, (_, standing) => {
    insert.run();
    steps.push(Number(standing?.done));
  });
  assert(steps.length > 3, `${steps}`);
  const ascending = steps.toSorted((a, b) => a - b);
  assert.deepEqual(steps, ascending);
  assert.deepEqual(storedPlants(copy), stored);
  assert.equal(storedPlants(path).length, stored.length + steps.length);
});

test('sqlite: a service that has opened the store in the moment in which it was replaced does not write to the old one', {
  skip: process.platform === 'linux' ? false : 'open files are only told on Linux',
}, async (t) => {
  const [path, other] = [await newStore(t), await newStore(t, 3)];
  const isOpen = (file: string) =>
    openFiles().filter((open) => open === realpathSync(file)).length > 1;
  const claimed = claimSqliteStore(path, false);
  const opening = openSqliteStore(path, { callMs: 5_000, mayMake: true });
  const refusal = assert.rejects(opening, {
    name: 'StoreOpenError',
    message: /cannot open the store/,
  });
  while (!isOpen(path)) await new Promise(setImmediate);
  assert.equal(claimed.replaceBy(other, `${path}.kept`), true);
  claimed[Symbol.dispose]();
  await refusal;
  await using store = await openSqliteStore(path, { callMs: 5_000, mayMake: true });
  assert.equal((await store.countMatches({ budgetMs: 1_000 })).plants, 3);
});

function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/self/fd/${descriptor}`)];
    } catch {
      // The descriptor was closed after the folder was read.
      return [];
    }
  });
}
