import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { checkPages } from '../../src/cli/backup/page-check.ts';
import { limits } from '../../src/limits.ts';
import { holdsAll } from '../../src/store/comparison.ts';
import { comparePlants, immutableUrl } from '../../src/store/sqlite/comparison.ts';
import { diagnose } from '../../src/store/sqlite/repair.ts';
import { flip, offsetOf, pageBytes, pagesOfType, pageTypes } from '../helpers/damage.ts';
import {
  create,
  type Ended,
  type Owner,
  oneThread,
  startProgram,
  startServer,
  temporaryFolder,
} from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';
import { addToken, alterStore, makeStore, openStoreAt } from '../helpers/store-file.ts';
import { seededRandom } from '../torture/workload.ts';

const plants = 5_000;
/** Ids that leave room between them. */
const idOf = (number: number) => BigInt(number) * 16n;
const nameOf = (number: number) => `Plant ${String(number).padStart(6, '0')} of the garden`;
/** Every thousandth name needs pages of its own. */
const longChars = 10_000;
/** Enough for an interior page above the leaves. */

const folder = await temporaryFolder({ after });
const sound = join(folder, 'sound.db');
const backup = join(folder, 'backup.db');
/** Plants that the store has, and the backup lacks. */
const newer = [
  { id: 24n, name: 'Newer plant between', tag: 'Acer', createdBy: 0 },
  { id: idOf(plants + 1), name: 'Newer plant behind', tag: undefined, createdBy: 1 },
];
await makeSound();

/** A store with plants in long chains of pages, and with free pages. */
async function makeSound(): Promise<void> {
  makeStore(sound);
  addToken(sound, 'my-app');
  alterStore(
    sound,
    `WITH RECURSIVE numbers(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers WHERE n < ${plants})
     INSERT INTO plants SELECT 16 * n,
       iif(n % 1000, printf('Plant %06d of the garden', n), printf('Long %06d %.*c', n, ${longChars}, 'x')),
       iif(n % 2, printf('Tag %06d', n), NULL), 1700000000000 + n, n % 3 FROM numbers;
     CREATE TABLE freed (content BLOB);
     WITH RECURSIVE numbers(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers WHERE n < 50)
     INSERT INTO freed SELECT zeroblob(4000) FROM numbers;
     DROP TABLE freed;`,
  );
  succeeded(await runHere(['backup', backup, ...storeFlag(sound)]));
  const store = await openStoreAt(sound);
  await store.createPlants(newer);
  await store.close();
}

function storeFlag(path: string): string[] {
  return ['--store', `sqlite:${path}`];
}

const verifyAgainst = (store: string, ...flags: string[]) =>
  runHere(['verify', '--against', backup, ...storeFlag(store), ...flags]);
const repair = (store: string, ...flags: string[]) =>
  runHere(['repair', '--from', backup, ...storeFlag(store), ...flags]);

function succeeded({ code, stdout, stderr }: Ended): string {
  assert.equal(code, 0, stderr);
  return stdout;
}

function failed({ code, stderr }: Ended, lastLine: RegExp): void {
  assert.match(stderr.trimEnd().split('\n').at(-1) ?? '', lastLine);
  assert.equal(code, 1);
}

async function damagedCopy(owner: Owner, damage: (store: string) => void): Promise<string> {
  const store = join(await temporaryFolder(owner), 'plants.db');
  copyFileSync(sound, store);
  damage(store);
  return store;
}

type Row = Record<string, unknown>;

function rowsOf(path: string, table = 'plants'): Row[] {
  using db = new DatabaseSync(path, { readOnly: true });
  const select = db.prepare(`SELECT * FROM ${table}`);
  select.setReadBigInts(true);
  return select.all();
}

test('a store that is sound holds every plant of its backup, and repair changes nothing', async (t) => {
  const store = await damagedCopy(t, () => undefined);
  const { code, stdout, stderr } = await verifyAgainst(store);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^The store at \S+ is sound, and holds every plant of \S+backup\.db\.\n$/);
  assert.match(stdout, /^plants +5000\nchanged +0\nmissing +0\nunreadable +0\npages +sound\n$/);

  const before = readFileSync(store);
  const repaired = await repair(store);
  assert.match(repaired.stderr, /is sound, and holds every plant of .*; nothing has been changed/);
  assert.equal(repaired.code, 0);
  assert.deepEqual(readdirSync(dirname(store)), ['plants.db']);
  assert.equal(before.length, readFileSync(store).length);
});

test('one flipped bit in a name is found and named, and repair puts it right and keeps the damaged store', async (t) => {
  const store = await damagedCopy(t, (path) => flip(path, offsetOf(path, nameOf(4_321)) + 2));
  const found = await verifyAgainst(store, '--json');
  const id = `${idOf(4_321)}`;
  failed(
    found,
    new RegExp(
      `^plant-store: the store at \\S+ is damaged: of the 5,000 plants in \\S+, 1 changed \\(${id}\\); stop the service, and run "plant-store repair --from \\S+backup\\.db --store sqlite:${store}"$`,
    ),
  );
  const { changed, missing, pages } = JSON.parse(found.stdout);
  assert.deepEqual(
    [changed, missing, pages],
    [{ count: 1, ids: [id] }, { count: 0, ids: [] }, 'sound'],
  );
  succeeded(await runHere(['verify', ...storeFlag(store)]));

  const repaired = await repair(store);
  assert.match(succeeded(repaired), new RegExp(`^changed +1\\n +${id}\\n`, 'm'));
  assert.match(
    repaired.stderr,
    /Only in the damaged store, and taken over: 2 plants\. No backup vouches/,
  );
  const [kept] = readdirSync(dirname(store)).filter((name) => name !== 'plants.db');
  assert.match(kept ?? '', /^plants\.db\.replaced-[0-9TZ]+$/);
  assert.deepEqual(rowsOf(store), rowsOf(sound));
  for (const table of ['tokens', 'arrivals', 'backups'])
    assert.deepEqual(rowsOf(store, table), rowsOf(sound, table), table);
  succeeded(await runHere(['verify', ...storeFlag(store)]));
  succeeded(await verifyAgainst(store));
});

/** int64 of a time in a record: six bytes. */
function timeBytes(number: number): Buffer {
  const bytes = Buffer.alloc(6);
  bytes.writeIntBE(1_700_000_000_000 + number, 0, 6);
  return bytes;
}

/** Offset of the varint of an id: three bytes, before the header of the record (six bytes). */
function idOffset(path: string, number: number): number {
  return offsetOf(path, nameOf(number)) - 6 - 3;
}

const middle = (offsets: readonly number[]) => offsets[Math.floor(offsets.length / 2)] as number;
const leafOf = (path: string, number: number) =>
  Math.floor(offsetOf(path, nameOf(number)) / pageBytes) * pageBytes;
const interiorOf = (path: string) => middle(pagesOfType(path, pageTypes.interior, 10));
const freelistTrunk = (path: string) => (readFileSync(path).readUInt32BE(32) - 1) * pageBytes;

/** Where a bit flips. */
type Places = Readonly<Record<string, (path: string) => [offset: number, mask?: number]>>;

const placesInRows: Places = {
  'a name': (path) => [offsetOf(path, nameOf(3_008)) + 8],
  'a tag': (path) => [offsetOf(path, 'Tag 003001') + 4],
  'a time': (path) => [offsetOf(path, timeBytes(3_002)) + 5],
  'the lowest bit of an id': (path) => [idOffset(path, 3_003) + 2],
  'a high bit of an id': (path) => [idOffset(path, 3_004), 0x20],
  'the type of a column': (path) => [offsetOf(path, nameOf(3_005)) - 5],
  'the length of a row': (path) => [idOffset(path, 3_006) - 1, 4],
};

const placesInPages: Places = {
  'the type of a leaf': (path) => [leafOf(path, 3_007), 8],
  'the number of cells of a leaf': (path) => [leafOf(path, 3_007) + 4],
  'a cell pointer': (path) => [leafOf(path, 3_007) + 8 + 21, 0x10],
  'the type of an interior page': (path) => [interiorOf(path), 8],
  'a child of an interior page': (path) => [
    interiorOf(path) + readFileSync(path).readUInt16BE(interiorOf(path) + 12 + 10) + 3,
    2,
  ],
  'a key of an interior page': (path) => [
    interiorOf(path) + readFileSync(path).readUInt16BE(interiorOf(path) + 12 + 10) + 4,
    8,
  ],
  'the right child of an interior page': (path) => [interiorOf(path) + 11, 4],
  'the content of an overflow page': (path) => [offsetOf(path, 'Long 003000 ') + 6_000],
  'the chain of overflow pages': (path) => [
    Math.floor((offsetOf(path, 'Long 003000 ') + 6_000) / pageBytes) * pageBytes + 3,
    4,
  ],
  'the trunk of the freelist': (path) => [freelistTrunk(path) + 7],
  'a page in the freelist': (path) => [freelistTrunk(path) + 11, 0x40],
  'the mark of SQLite in the header of the file': () => [3],
  'the page size in the header of the file': () => [16, 0x40],
  'the number of free pages in the header of the file': () => [39],
  'the encoding in the header of the file': () => [59, 2],
  'the schema version in the header of the file': () => [63, 4],
  'the application id in the header of the file': () => [70, 4],
  'the type of the first page': () => [100, 8],
  'a column in the schema': (path) => [readFileSync(path).indexOf('name TEXT NOT NULL') + 1],
  'a column of another table in the schema': (path) => [
    readFileSync(path).indexOf('beaten_at') + 1,
  ],
  'the token of a name in an index': (path) => [readFileSync(path).lastIndexOf('my-app')],
};

/** Whether a scrub finds damage. */
function isFound(store: string): boolean {
  const { comparison, pageFaults } = diagnose(store, [backup], () => undefined);
  return pageFaults.length > 0 || 'fault' in comparison || !holdsAll(comparison);
}

test('each flipped bit in a row is found, and repair puts all of them right', async (t) => {
  for (const [place, at] of Object.entries(placesInRows)) {
    const store = await damagedCopy(t, (path) => flip(path, ...at(path)));
    assert(isFound(store), place);
  }
  const store = await damagedCopy(t, (path) => {
    for (const at of Object.values(placesInRows)) flip(path, ...at(path));
  });
  succeeded(await repair(store));
  assert.deepEqual(rowsOf(store), rowsOf(sound));
});

test('a flipped bit in the structure of a store is found wherever it lies, and repair brings back every plant', {
  concurrency: 2,
}, async (t) => {
  const expected = rowsOf(sound);
  await Promise.all(
    Object.entries(placesInPages).map(([place, at]) =>
      t.test(`in ${place}`, async (t) => {
        const store = await damagedCopy(t, (path) => flip(path, ...at(path)));
        assert(isFound(store));
        // `repair` itself compares what it has made with the backup, and checks each page.
        succeeded(await repair(store));
        assert.deepEqual(rowsOf(store), expected);
      }),
    ),
  );
});

test('each of 50 flipped bits in the names of 20,000 plants is found, and names exactly its plant', async (t) => {
  const own = await temporaryFolder(t);
  const [store, copy] = [join(own, 'plants.db'), join(own, 'copy.db')];
  makeStore(store, 20_000, 20);
  copyFileSync(store, copy);
  const random = seededRandom(1);
  for (let tries = 0; tries < 50; tries += 1) {
    const id = 1 + Math.floor(random() * 20_000);
    const name = `${'x'.repeat(20)}${id}`;
    // A tag or the header of the next row follows the digits of the id.
    const offset = readFileSync(store).lastIndexOf(id % 2 ? `${name}odd` : name);
    const at = offset + Math.floor(random() * 20);
    const mask = 1 << Math.floor(random() * 8);
    flip(store, at, mask);
    using db = new DatabaseSync(immutableUrl(store), { readOnly: true });
    const found = comparePlants(
      db,
      [copy],
      () => undefined,
      () => undefined,
    );
    assert('plants' in found);
    const { changed, missing, unreadable } = found;
    assert.deepEqual([missing.count, unreadable.count, changed.count], [0, 0, 1], `try ${tries}`);
    flip(store, at, mask);
  }
});

test('in a folder, the newest backup counts: an increment with its full backup', async (t) => {
  const own = await temporaryFolder(t);
  const [store, backups] = [join(own, 'plants.db'), join(own, 'backups')];
  copyFileSync(sound, store);
  mkdirSync(backups);
  const backUp = () => runHere(['backup', backups, '--keep', '1d:1m', ...storeFlag(store)]);
  succeeded(await backUp());
  const open = await openStoreAt(store);
  await open.createPlants([
    { id: 7n, name: 'Plant of the increment', tag: undefined, createdBy: 0 },
  ]);
  await open.close();
  // The name of a backup has the second.
  await setTimeout(1_000);
  succeeded(await backUp());
  assert.equal(readdirSync(backups).filter((name) => name.includes('.since-')).length, 2);
  const expected = rowsOf(store);
  flip(store, offsetOf(store, 'Plant of the increment'));
  flip(store, offsetOf(store, nameOf(4_444)));
  const against = () => runHere(['verify', '--against', backups, ...storeFlag(store)]);
  failed(
    await against(),
    /2 changed \([0-9]+, [0-9]+\); stop the service, and run "plant-store repair --from \S+\.since-\S+\.db --store/,
  );
  succeeded(await runHere(['repair', '--from', backups, ...storeFlag(store)]));
  assert.deepEqual(rowsOf(store), expected);
  succeeded(await against());
});

/** Overwrites the page of the plant that is newest. */
function destroyLastLeaf(store: string): void {
  const offset = offsetOf(store, newer[1]?.name ?? '');
  const content = readFileSync(store);
  const start = Math.floor(offset / pageBytes) * pageBytes;
  writeFileSync(store, content.fill(0xff, start, start + pageBytes));
}

test('a destroyed page is named by its ids, and the journal tells which newer plants are lost', async (t) => {
  const store = await damagedCopy(t, destroyLastLeaf);
  const found = await verifyAgainst(store, '--json');
  failed(
    found,
    /^plant-store: the store at \S+ is damaged: of the 5,000 plants in \S+, [0-9]+ unreadable \([0-9, …]+\); pages with faults \(/,
  );
  const { unreadable, unreadableRanges, pages } = JSON.parse(found.stdout);
  assert.equal(pages, 'damaged');
  assert.deepEqual(
    unreadableRanges.map(({ last }: { last: string }) => last),
    [`${idOf(plants)}`],
  );
  assert(unreadable.count < 100, `${unreadable.count}`);

  const repaired = await repair(store, '--json');
  const { onlyInStore, lost, tables } = JSON.parse(succeeded(repaired));
  assert.deepEqual(onlyInStore, { count: 1, ids: ['24'] });
  assert.deepEqual(lost, { count: 1, ids: [`${newer[1]?.id}`] });
  assert.equal(tables.arrivals, 'empty');
  assert.match(
    repaired.stderr,
    /^1 plant is lost \(80016\): clients have to create them again\.$/m,
  );
  succeeded(await verifyAgainst(store));

  // The journal begins anew, and the newest plants still have all plants.
  {
    await using repaired = await openStoreAt(store);
    await repaired.createPlants([
      { id: -1n, name: 'after the repair', tag: undefined, createdBy: 0 },
    ]);
  }
  const list = ['plants', 'list', '--newest', '--limit', '10000', '--store', `sqlite:${store}`];
  const ids = succeeded(await runHere(list)).match(/(?<="id":)-?[0-9]+/g) ?? [];
  assert.deepEqual([ids[0], ids.length, new Set(ids).size], ['-1', plants + 2, plants + 2]);
});

test('a store that SQLite cannot open gets the backup, and the newer plants of its pages', async (t) => {
  const store = await damagedCopy(t, (path) =>
    writeFileSync(path, readFileSync(path).fill(0, 0, pageBytes)),
  );
  failed(await verifyAgainst(store), /the store at \S+ is damaged \(.*run "plant-store repair/);
  const repaired = await repair(store);
  succeeded(repaired);
  assert.match(
    repaired.stderr,
    /are as in the backup: tokens, sessions, backups, jobs, heartbeat, history/,
  );
  assert.deepEqual(rowsOf(store), rowsOf(sound));
  succeeded(await verifyAgainst(store));
});

test('what is no store becomes the backup', async (t) => {
  const store = await damagedCopy(t, (path) =>
    writeFileSync(path, 'Water the alder.\n'.repeat(900)),
  );
  succeeded(await repair(store));
  assert.deepEqual(rowsOf(store), rowsOf(backup));
});

test('a backup that has changed, or has no manifest, is named and not the store', async (t) => {
  const store = await damagedCopy(t, () => undefined);
  const other = join(dirname(store), 'other.db');
  copyFileSync(backup, other);
  const against = () => runHere(['verify', '--against', other, ...storeFlag(store)]);
  const from = () => runHere(['repair', '--from', other, ...storeFlag(store)]);
  for (const command of [against, from])
    failed(await command(), /it is unknown whether the backup \S+other\.db has changed/);
  copyFileSync(`${backup}.manifest.json`, `${other}.manifest.json`);
  flip(other, offsetOf(other, nameOf(1)));
  for (const command of [against, from])
    failed(await command(), /the backup \S+other\.db differs from its manifest: digest/);
  rmSync(other);
  for (const command of [against, from]) failed(await command(), /there is no backup \S+other\.db/);
});

test('a database of another program, and another store, are refused and left as they are', async (t) => {
  const own = await temporaryFolder(t);
  const [foreign, other] = [join(own, 'foreign.db'), join(own, 'other.db')];
  alterStore(foreign, 'CREATE TABLE customers (id INTEGER PRIMARY KEY)');
  makeStore(other, 3);
  for (const command of [verifyAgainst, repair])
    failed(await command(foreign), /foreign\.db is an SQLite database of another program/);
  failed(await repair(other), /no plant as in \S+backup\.db, which is the backup of another store/);
  assert.deepEqual(readdirSync(own).sort(), ['foreign.db', 'other.db']);
});

test('a service goes on during a scrub, and repair refuses until the service has stopped', async (t) => {
  const store = await damagedCopy(t, (path) => flip(path, offsetOf(path, nameOf(2))));
  const server = await startServer(t, store, oneThread);
  failed(await verifyAgainst(store), /1 changed \(32\)/);
  failed(await repair(store), /another process has the store at \S+ open; stop the service/);
  assert.equal((await create(server.plantsUrl, { id: 1, name: 'Alder' })).status, 200);
  await server.stop('SIGKILL');
  succeeded(await repair(store));
  assert.equal(rowsOf(store).length, rowsOf(sound).length + 1);
});

test('the check of the pages ends when the WAL becomes large, and says so', async (t) => {
  const store = await damagedCopy(t, () => undefined);
  const open = await openStoreAt(store);
  t.after(() => open.close());
  await open.beat(1);
  truncateSync(`${store}-wal`, limits.scrub.walBytesMax + 1);
  const { code, stdout, stderr } = await verifyAgainst(store, '--json');
  assert.equal(code, 1);
  assert.equal(JSON.parse(stdout).pages, 'unchecked');
  assert.match(
    stderr,
    /holds every plant of the backup, but its pages could not be checked: the WAL is larger than 1 GiB; check again when there are fewer creates\n$/,
  );
});

test('the check of the pages of a store that is gone ends', { timeout: 60_000 }, async () => {
  assert.deepEqual(await checkPages(join(folder, 'gone.db')), {
    unchecked: 'the process that checked them has ended early (exit code 1)',
  });
});

test('a repair that is killed leaves the damaged store or the repaired one, and the next repair succeeds', {
  concurrency: 2,
}, async (t) => {
  let killed = 0;
  const kills = [1, 4, 14, 30, 50].map((events) =>
    t.test(`after ${events} changes of files`, async (t) => {
      const store = await damagedCopy(t, (path) => flip(path, offsetOf(path, nameOf(2))));
      const damaged = rowsOf(store);
      const child = startProgram(['repair', '--from', backup, ...storeFlag(store)]);
      let changes = 0;
      const watcher = watch(dirname(store), { recursive: true }, () => {
        if ((changes += 1) === events) child.kill('SIGKILL');
      });
      await once(child, 'close');
      watcher.close();
      if (child.signalCode !== null) killed += 1;
      // A killed process may leave a journal, which a reader cannot roll back.
      alterStore(store, 'SELECT count(*) FROM plants');
      const isRepaired = isDeepStrictEqual(rowsOf(store), rowsOf(sound));
      assert(isRepaired || isDeepStrictEqual(rowsOf(store), damaged), 'one of the two');
      if (child.signalCode === null) assert(isRepaired);
      succeeded(await repair(store));
      assert.deepEqual(rowsOf(store), rowsOf(sound));
    }),
  );
  await Promise.all(kills);
  assert(killed > 2, `${killed} repairs were killed`);
});

test('wrong usage', async () => {
  for (const [args, says] of [
    [['verify', 'a.db', '--against', 'b.db'], /verify takes FILE or --against/],
    [['repair'], /repair needs --from BACKUP/],
    [['repair', '--from', 'postgres://a/b'], /repair needs --from BACKUP/],
  ] as const) {
    const { code, stderr } = await runHere(args);
    assert.match(stderr, says);
    assert.equal(code, 2);
  }
  failed(
    await runHere(['repair', '--from', backup, ...storeFlag(`${backup}2`)]),
    /there is no store at \S+ to repair; "plant-store restore/,
  );
  failed(await repair(backup), /backup\.db is the store itself/);
});
