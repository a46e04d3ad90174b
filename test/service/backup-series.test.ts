import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { manifestText } from '../../src/cli/backup/manifest.ts';
import { storeLocation } from '../../src/config/store-location.ts';
import type { PlantToCreate } from '../../src/store/plants.ts';
import { openStore } from '../../src/stores.ts';
import { startPostgres } from '../helpers/postgres.ts';
import { storePath } from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';
import { addToken, alterStore, openStoreAt, storedPlants } from '../helpers/store-file.ts';

const keepAll = '1d:1ms';

interface Series {
  readonly store: string;
  readonly folder: string;
}

/** A store with 100 plants, and an empty folder for its backups. */
async function newSeries(t: TestContext): Promise<Series> {
  const store = await storePath(t);
  await createPlants(store, 100, 1);
  addToken(store, 'my-app');
  const folder = join(dirname(store), 'backups');
  mkdirSync(folder);
  return { store, folder };
}

async function createPlants(path: string, count: number, firstId: number): Promise<void> {
  await using store = await openStoreAt(path);
  const plants = Array.from({ length: count }, (_, index): PlantToCreate => {
    // Descending and odd: no order that a table would have by itself.
    const id = BigInt(firstId + 2 * (count - index));
    return { id, name: `plant ${id}`, tag: index % 2 ? 'odd' : undefined, createdBy: 0 };
  });
  await store.createPlants(plants);
}

const storeFlag = (store: string) => ['--store', store.includes(':') ? store : `sqlite:${store}`];

async function backUp(
  { store, folder }: Series,
  keep = keepAll,
): Promise<Record<string, unknown> & { file: string }> {
  const args = ['backup', folder, '--keep', keep, '--json', ...storeFlag(store)];
  const { code, stdout, stderr } = await runHere(args);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

const hourMs = 3_600_000;
const startMs = Date.parse('2026-11-23T12:00:00Z');

function setClock(t: TestContext): Pick<typeof t.mock.timers, 'tick' | 'setTime'> {
  t.mock.timers.enable({ apis: ['Date'], now: startMs });
  return t.mock.timers;
}

const listed = ({ folder }: Series) =>
  readdirSync(folder).filter((file) => !file.startsWith('.') && file.endsWith('.db'));

async function restored({ store, folder }: Series, source = folder) {
  const path = join(dirname(store), `restored-${Math.random()}`, 'plants.db');
  const { code, stderr } = await runHere(['restore', source, ...storeFlag(path)]);
  assert.equal(code, 0, stderr);
  return path;
}

test('after a full backup, a backup holds only the new plants, and a restore brings all of them', async (t) => {
  const clock = setClock(t);
  const series = await newSeries(t);
  const full = await backUp(series);
  clock.tick(hourMs);
  await createPlants(series.store, 10, 1_000);
  addToken(series.store, 'later');
  const increment = await backUp(series);

  assert.deepEqual(listed(series), [
    'plants-20261123T120000Z.db',
    'plants-20261123T130000Z.since-20261123T120000Z.db',
  ]);
  assert.deepEqual(
    [increment['plants'], increment['allPlants'], increment['base'], increment['baseSha256']],
    [10, 110, basename(full.file), full['sha256']],
  );
  const verified = await runHere(['verify', series.folder]);
  assert.deepEqual(
    [verified.code, verified.stderr],
    [
      0,
      `The backup ${increment.file} is sound, and matches its manifest: 110 plants, of which 10 came with the increment.\n`,
    ],
  );

  const path = await restored(series);
  assert.deepEqual(storedPlants(path), storedPlants(series.store));
  assert.match((await runHere(['token', 'list', ...storeFlag(path)])).stdout, /later/);
  assert.equal(storedPlants(await restored(series, full.file)).length, 100);

  // The restored store goes on where the backup ends.
  clock.tick(hourMs);
  await createPlants(path, 5, 5_000);
  const next = await backUp({ ...series, store: path });
  assert.deepEqual([next['plants'], next['base']], [15, basename(full.file)]);
});

test('a backup is full after a week, or when too much is new', async (t) => {
  const clock = setClock(t);
  const series = await newSeries(t);
  await backUp(series);
  clock.tick(hourMs);
  await createPlants(series.store, 26, 1_000);
  assert.equal((await backUp(series))['base'], undefined);
  clock.tick(7 * 24 * hourMs);
  assert.equal((await backUp(series, '1y:1h'))['base'], 'plants-20261123T130000Z.db');
  clock.tick(1_000);
  assert.equal((await backUp(series, '1y:1h'))['base'], undefined);
});

test('a backup is full when the last full one is of another store, damaged, or without its manifest', async (t) => {
  const clock = setClock(t);
  const series = await newSeries(t);
  const other = await newSeries(t);
  await backUp({ ...series, store: other.store });
  clock.tick(hourMs);
  const full = await backUp(series);
  assert.equal(full['base'], undefined);
  clock.tick(hourMs);
  writeFileSync(full.file, 'damaged');
  const { stderr } = await runHere([
    'backup',
    series.folder,
    '--keep',
    keepAll,
    ...storeFlag(series.store),
  ]);
  assert.match(stderr, /The full backup .* cannot be used \(.*\); making another\./);
  clock.tick(hourMs);
  rmSync(join(series.folder, 'plants-20261123T140000Z.db.manifest.json'));
  assert.equal((await backUp(series))['base'], undefined);
});

test('a store of an earlier version has full backups until no service of that version can write any more', async (t) => {
  const clock = setClock(t);
  const series = await newSeries(t);
  alterStore(
    series.store,
    `INSERT INTO arrivals (seq, created_at, ids) VALUES (0, ${startMs}, x'')`,
  );
  await backUp(series);
  clock.tick(hourMs);
  assert.equal((await backUp(series))['base'], undefined);
  clock.tick(1_000);
  assert.equal((await backUp(series))['base'], undefined);
  clock.tick(1_000);
  assert.equal((await backUp(series))['base'], 'plants-20261123T130001Z.db');
});

test('a clock that is once a year ahead removes no backup, and its backup is not the newest after', async (t) => {
  const clock = setClock(t);
  const series = await newSeries(t);
  const rules = '24h:1h,30d:1d,1y:1w';
  for (let hour = 0; hour < 3; hour += 1) {
    await backUp(series, rules);
    clock.tick(hourMs);
  }
  const earlier = listed(series);
  clock.setTime(startMs + 400 * 24 * hourMs);
  const { removed, warning } = await backUp(series, rules);
  assert.deepEqual([removed, listed(series).length], [0, 4]);
  assert.match(
    String(warning),
    /^No older backup was removed: .* 399 days after the one before\.$/,
  );
  clock.tick(hourMs);
  assert.equal((await backUp(series, rules))['removed'], 0);

  clock.setTime(startMs + 3 * hourMs);
  await createPlants(series.store, 10, 1_000);
  const newest = await backUp(series, rules);
  assert.deepEqual(
    earlier.filter((file) => !listed(series).includes(file)),
    [],
  );
  const { stderr } = await runHere(['verify', series.folder]);
  assert.ok(stderr.startsWith(`The backup ${newest.file} is sound`), stderr);
  assert.equal(storedPlants(await restored(series)).length, 110);
});

test('of backups by an earlier version, the newest has the most plants', async (t) => {
  const clock = setClock(t);
  const series = await newSeries(t);
  const asEarlier = ({ file }: { readonly file: string }) => {
    const path = `${file}.manifest.json`;
    const { checksum: _, seriesAt, ...manifest } = JSON.parse(readFileSync(path, 'utf8'));
    assert.ok(seriesAt);
    writeFileSync(path, manifestText(manifest));
  };
  clock.setTime(startMs + 400 * 24 * hourMs);
  asEarlier(await backUp(series));
  clock.setTime(startMs);
  await createPlants(series.store, 60, 1_000);
  const newest = await backUp(series);
  asEarlier(newest);
  const { stderr } = await runHere(['verify', series.folder]);
  assert.ok(stderr.startsWith(`The backup ${newest.file} is sound`), stderr);
});

test('after a restore of an older backup, the next backup is the newest, and who takes it hears of the fuller one', async (t) => {
  const clock = setClock(t);
  const series = await newSeries(t);
  const old = await backUp(series);
  clock.tick(hourMs);
  await createPlants(series.store, 60, 1_000);
  const fuller = await backUp(series);
  clock.tick(hourMs);
  const next = await backUp({ ...series, store: await restored(series, old.file) });
  const { code, stderr } = await runHere(['verify', series.folder]);
  assert.deepEqual(
    [code, stderr.split('\n').slice(0, 2)],
    [
      0,
      [
        `${fuller.file} was made before ${next.file}, and has more plants: 160 instead of 100.`,
        `The backup ${next.file} is sound, and matches its manifest.`,
      ],
    ],
  );
});

test('old backups are removed after a good one, and a full one stays with its increments', async (t) => {
  const clock = setClock(t);
  const series = await newSeries(t);
  mkdirSync(join(series.folder, 'other'));
  writeFileSync(join(series.folder, 'plants-notes.db'), 'not a backup');
  for (let hour = 0; hour < 3; hour += 1) {
    await backUp(series, '1h:1h');
    clock.tick(hourMs + 1_000);
  }
  assert.deepEqual(listed(series), [
    'plants-20261123T120000Z.db',
    'plants-20261123T140002Z.since-20261123T120000Z.db',
    'plants-notes.db',
  ]);
  await createPlants(series.store, 100, 1_000);
  const { removed } = await backUp(series, '1h:1h');
  assert.equal(removed, 2);
  assert.deepEqual(listed(series), ['plants-20261123T150003Z.db', 'plants-notes.db']);
  assert.deepEqual(
    readdirSync(series.folder).filter((file) => file.endsWith('.json')),
    ['plants-20261123T150003Z.db.manifest.json'],
  );
  // Another one in the same hour takes the place of the one before, and says so.
  clock.tick(60_000);
  const args = ['backup', series.folder, '--keep', '24h:1h,30d:1d', ...storeFlag(series.store)];
  await createPlants(series.store, 100, 3_000);
  const { stderr } = await runHere(args);
  assert.match(stderr, /^1 older backup was removed, which --keep 1d:1h,30d:1d does not keep\.$/m);
});

test('a full backup takes no damage over: a damaged store gets an increment, and the backup fails', async (t) => {
  const clock = setClock(t);
  const series = await newSeries(t);
  const full = await backUp(series);
  clock.tick(hourMs);
  await createPlants(series.store, 5, 1_000);
  await backUp(series);
  alterStore(series.store, "UPDATE plants SET name = 'Plant 3' WHERE id = 3");
  alterStore(series.store, "UPDATE plants SET name = 'Plant 1002' WHERE id = 1002");
  clock.tick(8 * 24 * hourMs);
  const args = ['backup', series.folder, '--keep', '1h:1h', ...storeFlag(series.store)];
  const { code, stderr } = await runHere(args);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /is damaged: of the 105 plants in .*, 2 changed \(3, 1002\); stop the service/,
  );
  const newest = listed(series).at(-1) ?? '';
  assert.deepEqual([listed(series).length, newest.includes('.since-')], [3, true]);
  await using store = await openStoreAt(series.store);
  assert.match((await store.listJobs())[0]?.fault ?? '', /is damaged: of the 105 plants/);
  assert.equal(existsSync(full.file), true);
});

test('a failed backup removes nothing, and is recorded', async (t) => {
  const clock = setClock(t);
  const series = await newSeries(t);
  await backUp(series);
  clock.tick(hourMs);
  await createPlants(series.store, 1, 1_000);
  alterStore(series.store, 'DELETE FROM plants WHERE id = 1002');
  const args = ['backup', series.folder, '--keep', '1h:1h', ...storeFlag(series.store)];
  const { code, stderr } = await runHere(args);
  assert.equal(code, 1);
  assert.match(stderr, /the journal of the store names the plant 1002, which the store lacks/);
  assert.deepEqual(listed(series), ['plants-20261123T120000Z.db']);
  await using store = await openStoreAt(series.store);
  const [job] = await store.listJobs();
  assert.match(job?.fault ?? '', /names the plant 1002/);
  assert.equal(job?.success?.atMs, startMs);
});

test('what a killed process has left is removed before the next backup', async (t) => {
  const clock = setClock(t);
  const series = await newSeries(t);
  const leftFolder = join(series.folder, '.plants.unfinished');
  mkdirSync(leftFolder);
  writeFileSync(join(leftFolder, 'plants-20261123T110000Z.db'), 'half');
  const leftManifest = join(series.folder, 'plants-20261123T110000Z.db.manifest.json');
  writeFileSync(leftManifest, '{}');
  writeFileSync(`${leftManifest}.123.unfinished`, '{');
  await backUp(series);
  assert.equal(existsSync(leftFolder), false);
  assert.equal(existsSync(leftManifest), true);
  clock.tick(24 * hourMs);
  await backUp(series);
  assert.equal(existsSync(leftManifest), false);
  assert.equal(existsSync(`${leftManifest}.123.unfinished`), false);
});

test('an increment without its full backup, or with another, is refused', async (t) => {
  const clock = setClock(t);
  const series = await newSeries(t);
  const full = await backUp(series);
  clock.tick(hourMs);
  const { file } = await backUp(series);
  const other = await newSeries(t);
  const otherFull = await backUp(other);
  const fails = async (message: RegExp) => {
    for (const command of [
      ['verify', file],
      ['restore', file, ...storeFlag(await storePath(t))],
    ]) {
      const { code, stderr } = await runHere(command);
      assert.equal(code, 1);
      assert.match(stderr, message);
    }
  };
  for (const name of [full.file, `${full.file}.manifest.json`]) rmSync(name);
  await fails(/needs its full backup .*plants-20261123T120000Z\.db, which is not there/);
  assert.match(
    (await runHere(['verify', series.folder])).stderr,
    /there is no backup with its manifest/,
  );
  for (const ending of ['', '.manifest.json'])
    copyFileSync(`${otherFull.file}${ending}`, `${full.file}${ending}`);
  await fails(/belongs to another file than/);
});

test('a database has full backups only, which are thinned', async (t) => {
  const database = await startPostgres(t);
  const clock = setClock(t);
  const { folder } = await newSeries(t);
  const series = { store: await database.makeDatabase(), folder };
  await (await openStore(storeLocation(series.store, {}), 5_000)).close();
  const first = await backUp(series, '1h:1h');
  clock.tick(2 * hourMs);
  const { base, removed } = await backUp(series, '1h:1h');
  assert.deepEqual([base, removed, existsSync(first.file)], [undefined, 1, false]);
});
