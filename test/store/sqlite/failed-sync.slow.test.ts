import assert from 'node:assert/strict';
import { type ChildProcess, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { withLimits } from '../../helpers/faults.ts';
import { startLitestream, whyNoLitestream } from '../../helpers/litestream.ts';
import { createUntilRefused } from '../../helpers/load.ts';
import { mountedThinDisk } from '../../helpers/mounts.ts';
import { pause } from '../../helpers/pause.ts';
import {
  create,
  inReverse,
  oneThread,
  runProgram,
  startServer,
  temporaryFolder,
  token,
} from '../../helpers/program.ts';
import { done, on, runHere } from '../../helpers/run-here.ts';
import { skipVisibly } from '../../helpers/skips.ts';
import { makeStore, walSalt } from '../../helpers/store-file.ts';
import { readStore } from '../../torture/check-journal.ts';

/*
 * A sync fails because the disk below the file system has no room for a moment. The restart must
 * not count on pages that only the memory has: then a power cut loses them.
 */

/** @returns the ids of the acknowledged plants, which are above `from` */
async function createUntil(plantsUrl: string, from: number, plants = 1e9, nameChars = 10_000) {
  const nameOf = (id: number) => `${id}`.padEnd(nameChars, 'x');
  const these = { clients: 8, firstId: from + 1, plants };
  return (await createUntilRefused(plantsUrl, nameOf, these)).acknowledged;
}

type Disk = NonNullable<ReturnType<typeof mountedThinDisk>>;

/** A test on a disk that can be full below its file system. */
function testOnDisk(what: string, check: (t: TestContext, disk: Disk) => Promise<void>): void {
  test(what, async (given) => {
    const disk = mountedThinDisk(given, 32 * 2 ** 20);
    // What the test has started ends before its disk is unmounted.
    if (disk) await check(inReverse(given) as TestContext, disk);
  });
}

/** Checkpoints come soon, so that the store grows, and the WAL begins again and again. */
const checkpointsOften = withLimits({ sqlite: { checkpointPages: 20 } });

/**
 * The WAL gets room for more than is written before a checkpoint that waits for a busy machine, and
 * begins again.
 */
async function makeRoomInWal(plantsUrl: string, store: string) {
  const reader = new DatabaseSync(store, { readOnly: true });
  reader.exec('BEGIN; SELECT count(*) FROM plants');
  const large = await createUntil(plantsUrl, 5_000, 8, 900_000);
  const before = walSalt(store);
  reader.close();
  const small: number[] = [];
  while (walSalt(store) === before)
    small.push(...(await createUntil(plantsUrl, 6_000 + small.length, 1)));
  return [...large, ...small];
}

/** A store whose sync has failed, with the ids of its acknowledged plants. The disk is full. */
async function failSync(
  t: TestContext,
  disk: Disk,
  what: 'WAL' | 'store',
  whenOpen: (store: string) => Promise<unknown> = async () => undefined,
) {
  const store = join(disk.at, 'plants.db');
  const variables = what === 'store' ? checkpointsOften : { PLANT_STORE_TOKEN: token };
  const { child, plantsUrl, stderr } = await startServer(t, store, oneThread, variables);
  const large = what === 'store' ? await makeRoomInWal(plantsUrl, store) : [];
  const before = [...large, ...(await createUntil(plantsUrl, 0, 20))];
  await whenOpen(store);
  disk.fill();
  const exit = once(child, 'exit');
  const acknowledged = [...before, ...(await createUntil(plantsUrl, 10_000))];
  await exit;
  assert.equal(child.exitCode, 1);
  // SQLite itself syncs the store at the end of a checkpoint.
  assert.match(stderr(), new RegExp(`the sync of the ${what} has failed|disk I/O error`));
  return { store, acknowledged };
}

function assertHolds(file: string, acknowledged: readonly number[]): void {
  const damage: string[] = [];
  const stored = readStore(file, damage);
  const lost = acknowledged.filter((id) => !stored.has(`${id}`));
  assert.deepEqual([damage, lost], [[], []]);
}

/**
 * Starts a service that must create plants. Another service that has not ended yet may count on
 * lost pages, or leave a late note of its own: then a start is tried again after its end.
 */
async function startAndCreate(t: TestContext, store: string, besides: ChildProcess | undefined) {
  const after: number[] = [];
  for (let starts = 1; ; starts += 1) {
    const server = await startServer(t, store, oneThread).catch((error: Error) => {
      assert.match(error.message, /the WAL lacks pages that other programs count on/);
    });
    const these = server ? await createUntil(server.plantsUrl, 20_000 * starts, 30) : [];
    after.push(...these);
    if (server && these.length === 30) return { ...server, after };
    assert(besides !== undefined && starts < 3, `${server?.stderr()}`);
    if (besides.exitCode === null) await once(besides, 'exit');
    if (server && server.child.exitCode === null) await once(server.child, 'exit');
    if (server) assert.match(server.stderr(), /a sync of the \S+ has failed in another process/);
  }
}

/** A service on the store is started, and must keep what it and those before have acknowledged. */
async function assertKeeps(
  t: TestContext,
  disk: Disk,
  store: string,
  acknowledged: readonly number[],
  besides: ChildProcess | undefined = undefined,
) {
  const { child, stderr, after } = await startAndCreate(t, store, besides);
  // Nothing writes while the disk is copied.
  for (const one of [child, besides]) one?.kill('SIGSTOP');
  assertHolds(join(disk.powerCut(), 'plants.db'), [...acknowledged, ...after]);
  return stderr();
}

type Other = (t: TestContext, store: string) => Promise<ChildProcess | undefined>;

function connect(t: TestContext, store: string, sql: string): undefined {
  const db = new DatabaseSync(store, { readOnly: true });
  t.after(() => db.close());
  db.exec(sql);
}

/** Linux forgets the pages of the file, as it may when memory is short. */
function forget(file: string): void {
  assert.equal(spawnSync('dd', [`if=${file}`, 'iflag=nocache', 'count=0']).status, 0);
}

/** What else has the store open, or had, over the restart. */
const others = {
  'no other program': async () => undefined,
  'the transaction of a reader': async (t, store) =>
    connect(t, store, 'BEGIN; SELECT count(*) FROM plants'),
  'an idle connection': async (t, store) => connect(t, store, 'SELECT count(*) FROM plants'),
  'a process that has left no note': async () => undefined,
  'another service': async (t, store) => (await startServer(t, store, oneThread)).child,
  Litestream: async (t, store) => {
    const replica = join(await temporaryFolder(t), 'replica');
    await startLitestream(t, { store, replica }).inSync();
    return undefined;
  },
} satisfies Readonly<Record<string, Other>>;
type Name = keyof typeof others;

/** Litestream is an idle connection and a reader, too. */
const cases: readonly (readonly ['WAL' | 'store', Name])[] = [
  ['WAL', 'no other program'],
  ['WAL', 'a process that has left no note'],
  ['WAL', 'another service'],
  ['WAL', 'Litestream'],
  ['store', 'the transaction of a reader'],
  ['store', 'an idle connection'],
];

for (const [what, name] of cases) {
  testOnDisk(
    `a failed sync of the ${what}, a restart beside ${name}, and a power cut lose nothing`,
    async (t, disk) => {
      const whyNot = name === 'Litestream' ? whyNoLitestream() : undefined;
      if (whyNot !== undefined) return skipVisibly(t, whyNot);
      // A transaction keeps the WAL from beginning again, and then the store does not grow.
      const isLate = what === 'store' && name === 'the transaction of a reader';
      let besides: ChildProcess | undefined;
      const openBesides = async (path: string) => void (besides = await others[name](t, path));
      const whenOpen = isLate ? undefined : openBesides;
      const { store, acknowledged } = await failSync(t, disk, what, whenOpen);
      disk.makeRoom();
      if (isLate) await openBesides(store);
      if (name === 'a process that has left no note') rmSync(`${store}-sync`);
      // The WAL has what neither the disk nor the memory has.
      if (what === 'store' && name === 'an idle connection') forget(store);

      const says = await assertKeeps(t, disk, store, acknowledged, besides);
      assert.match(says, /a sync had failed; the disk again has everything/);
    },
  );
}

testOnDisk(
  'a store whose WAL has lost pages that another program counts on is not opened before that program ends',
  async (t, disk) => {
    let idle: DatabaseSync | undefined;
    const { store, acknowledged } = await failSync(t, disk, 'WAL', async (path) => {
      idle = new DatabaseSync(path, { readOnly: true });
      idle.exec('SELECT count(*) FROM plants');
    });
    disk.makeRoom();
    forget(`${store}-wal`);
    const refused = await runProgram(['serve', '--port', '0', ...on(store)]);
    assert.match(
      refused.stderr,
      /the repair is not possible now: .* end the other programs that have the store open/,
    );
    idle?.close();
    await assertKeeps(t, disk, store, acknowledged);
  },
);

testOnDisk(
  'after a failed sync, verify and doctor tell it, and the first command that writes repairs the store, once it can',
  async (t, disk) => {
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
  },
);

testOnDisk(
  'a stop whose last checkpoint fails ends with exit code 1, and the next start repairs the store',
  async (t, disk) => {
    const store = join(disk.at, 'plants.db');
    const { plantsUrl, stop, stderr } = await startServer(t, store, oneThread, checkpointsOften);
    // The WAL has room, and begins again. The last plants are not in the store.
    const before = await createUntil(plantsUrl, 1_000, 4, 900_000);
    before.push(...(await createUntil(plantsUrl, 0, 20)));
    while (statSync(store).size < 3_600_000) await pause();
    // First: a checkpoint that is due already would take the last plants.
    disk.fill();
    const acknowledged = [...before, ...(await createUntil(plantsUrl, 100, 2))];
    assert.equal(await stop(), 1);
    assert.match(stderr(), /the sync of the store has failed|disk I\/O error/);
    disk.makeRoom();
    const says = await assertKeeps(t, disk, store, acknowledged);
    assert.match(says, /a sync had failed; the disk again has everything/);
  },
);

testOnDisk(
  'a command that writes finds what Linux has failed to write in the background',
  async (t, disk) => {
    const store = join(disk.at, 'plants.db');
    makeStore(store, 0);
    const db = new DatabaseSync(store);
    t.after(() => db.close());
    db.exec('PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0');
    disk.fill();
    db.exec("INSERT INTO plants VALUES (1, 'Alder', NULL, 0, 0)");
    spawnSync('sync', ['--file-system', store]);
    disk.makeRoom();
    assert.equal((await runProgram(['token', 'create', 'my-app', ...on(store)])).code, 0);
    assertHolds(join(disk.powerCut(), 'plants.db'), [1]);
  },
);

testOnDisk(
  'a service that can leave no note of a failed sync answers 503 until a note can be left',
  async (t, disk) => {
    const store = join(disk.at, 'plants.db');
    const { child, plantsUrl, stderr } = await startServer(t, store, oneThread);
    const immutable = (how: '+i' | '-i') => spawnSync('chattr', [how, `${store}-sync`]).status;
    assert.equal(immutable('+i'), 0);
    t.after(() => immutable('-i'));
    disk.fill();
    await createUntil(plantsUrl, 0);
    // Longer than a service with a note takes to its end.
    for (let last = 0; last < 20; last += 1, await pause())
      assert.equal((await create(plantsUrl, { id: 1, name: 'Alder' })).status, 503);
    const exit = once(child, 'exit');
    immutable('-i');
    await exit;
    assert.equal(child.exitCode, 1);
    assert.doesNotMatch(stderr(), /no note of that could be left beside the store/);
    assert.match(readFileSync(`${store}-sync`, 'utf8'), /[0-9a-f]{8}-/);
  },
);

testOnDisk('a backup takes the place of a store whose sync has failed', async (t, disk) => {
  const backup = join(await temporaryFolder(t), 'backup.db');
  const { store } = await failSync(t, disk, 'WAL', (path) => done('backup', backup, ...on(path)));
  disk.makeRoom();
  await done('restore', backup, '--overwrite', ...on(store));
  await done('verify', ...on(store));
  const ofBackup = Array.from({ length: 20 }, (_, index) => 1 + index);
  assertHolds(join(disk.powerCut(), 'plants.db'), ofBackup);
});
