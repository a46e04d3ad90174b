import assert from 'node:assert/strict';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { nextName } from '../../src/backup/folder.ts';
import { tryLockFile } from '../../src/store/engines.ts';
import { namesIn, newStore } from '../helpers/backups.ts';
import { flip, offsetOf } from '../helpers/damage.ts';
import { done, doneJson, on, refused, runHere } from '../helpers/run-here.ts';
import { alterStore, storedPlants } from '../helpers/store-file.ts';

interface Series {
  readonly store: string;
  readonly folder: string;
}

const hourMs = 3_600_000;
const startMs = Date.parse('2026-11-23T12:00:00Z');
const keepAll = '1d:1ms';
const usualRules = '24h:1h,30d:1d,1y:1w';

/** A store with 100 plants, an empty folder for its backups, and a clock that the test moves. */
async function newSeries(t: TestContext) {
  const store = await newStore(t, 100);
  const folder = join(dirname(store), 'backups');
  mkdirSync(folder);
  t.mock.timers.enable({ apis: ['Date'], now: startMs });
  return { store, folder, clock: t.mock.timers };
}

const addPlant = (store: string, id: number) =>
  alterStore(store, `INSERT INTO plants VALUES (${id}, 'plant ${id}', NULL, 1, 0)`);

const argsOf = ({ store, folder }: Series, keep: string) => [
  ...['backup', folder, '--keep', keep],
  ...on(store),
];
const backUp = (series: Series, keep = keepAll) => doneJson(...argsOf(series, keep));

/** The backups in the folder. */
const listed = ({ folder }: Series) => namesIn(folder).filter((name) => name.endsWith('Z.db'));

async function restored({ store, folder }: Series, source = folder): Promise<string> {
  const path = join(dirname(store), `restored-${Math.random()}`, 'plants.db');
  await done('restore', source, ...on(path));
  return path;
}

test('old backups are removed after a good one, by the rules, and other files stay', async (t) => {
  const { clock, ...series } = await newSeries(t);
  mkdirSync(join(series.folder, 'other'));
  writeFileSync(join(series.folder, 'plants-notes.db'), 'not a backup');
  for (let hour = 0; hour < 3; hour += 1) {
    await backUp(series, '1h:1h');
    clock.tick(hourMs + 1_000);
  }
  const newest = 'plants-20261123T140002Z.db';
  const left = ['other', newest, `${newest}.manifest.json`, 'plants-notes.db'];
  assert.deepEqual(namesIn(series.folder), left);
  await done('verify', join(series.folder, newest));
  assert.equal((await backUp(series, '100h:1h')).removed, 0);
  assert.equal(listed(series).length, 2);
});

test('a clock that is once a year ahead removes no backup, and its backup is not the newest after', async (t) => {
  const { clock, ...series } = await newSeries(t);
  for (let hour = 0; hour < 3; hour += 1) {
    await backUp(series, usualRules);
    clock.tick(hourMs);
  }
  const earlier = listed(series);
  clock.setTime(startMs + 400 * 24 * hourMs);
  const { removed, warning } = await backUp(series, usualRules);
  assert.deepEqual([removed, listed(series).length], [0, 4]);
  assert.match(
    warning,
    /^No older backup was removed: by the clock, which may be wrong, .* 399 days/,
  );
  clock.tick(hourMs);
  assert.equal((await backUp(series, usualRules)).removed, 0);

  clock.setTime(startMs + 3 * hourMs);
  addPlant(series.store, 1_000);
  const { file } = await backUp(series, usualRules);
  assert.deepEqual(earlier, listed(series).slice(0, 3));
  assert.equal((await doneJson('verify', series.folder)).file, file);
  assert.equal(storedPlants(await restored(series)).length, 101);
});

test('after a restore of an older backup, the next backup removes none that has more plants, and warns once', async (t) => {
  const { clock, ...series } = await newSeries(t);
  const old = await backUp(series);
  clock.tick(hourMs);
  addPlant(series.store, 1_000);
  const fuller = await backUp(series);
  clock.tick(hourMs);
  alterStore(series.store, 'DELETE FROM plants WHERE id = 1000');
  const { warning } = await backUp(series);
  assert.match(
    warning,
    /^Plants are lost: of the 101 plants in .*, the store at .* has 1 missing \(1000\)\. Bring the plants back, also while services run, with "plant-store export --store sqlite:\S+Z\.db \| plant-store import - --store sqlite:\S+", and make a backup\. If these plants are not missed, say so once with "plant-store backup .* --new-store yes .*"\.$/,
  );
  const ended = await runHere(['verify', series.folder]);
  assert.match(
    ended.stderr,
    new RegExp(`^${basename(fuller.file)}  .*  101 plants, of the store at`),
  );
  assert.match(ended.stderr, /lacks plants of earlier ones; name the file/);
  assert.equal(ended.code, 1);

  await done('restore', fuller.file, '--overwrite', ...on(series.store));
  clock.tick(hourMs);
  await done('restore', old.file, '--overwrite', ...on(series.store));
  clock.tick(hourMs);
  assert.equal((await backUp(series, '1h:1h')).warning, undefined);
  clock.tick(hourMs);
  assert.equal((await backUp(series, '1h:1h')).warning, undefined);
  assert(listed(series).includes(basename(fuller.file)));
  await done('verify', series.folder);
});

test('a bit that was flipped in a name fails the next backup, which names the plant and leaves the others', async (t) => {
  const { clock, ...series } = await newSeries(t);
  const { file } = await backUp(series);
  clock.tick(hourMs);
  addPlant(series.store, 1_000);
  flip(series.store, offsetOf(series.store, 'xxxxxxxxxx42'));
  const says = /of the 100 plants in .*, the store at .* has 1 changed \(42\); no backup was made/;
  await refused(says, ...argsOf(series, '1h:1h'));
  await refused(says, ...argsOf(series, '1h:1h'));
  assert.deepEqual(namesIn(series.folder), [basename(file), `${basename(file)}.manifest.json`]);
});

test('a backup that is damaged does not accuse the store, which is compared with the backup before', async (t) => {
  const { clock, ...series } = await newSeries(t);
  await backUp(series);
  for (const damage of [
    (path: string) => flip(path, offsetOf(path, 'xxxxxxxxxx42')),
    (path: string) => writeFileSync(path, 'broken'.repeat(10_000)),
  ]) {
    clock.tick(hourMs);
    const { file } = await backUp(series);
    damage(file);
    await refused(
      /differs from its manifest|no SQLite|not an SQLite|is damaged/,
      'verify',
      series.folder,
    );
    clock.tick(hourMs);
    const { warning } = await backUp(series, keepAll);
    assert.match(warning, new RegExp(`An earlier backup is bad, and stays: .*${basename(file)}.*`));
    rmSync(file);
    await done('verify', series.folder);
  }
  alterStore(series.store, "UPDATE plants SET name = '' WHERE id = 42");
  clock.tick(hourMs);
  await refused(/has 1 changed \(42\)/, ...argsOf(series, keepAll));
});

test('what a killed process has left is removed before the next backup', async (t) => {
  const { clock, ...series } = await newSeries(t);
  const unfinished = join(series.folder, '.plants.unfinished');
  mkdirSync(unfinished);
  writeFileSync(join(unfinished, 'plants-20261123T110000Z.db'), 'half');
  const manifest = join(series.folder, 'plants-20261123T110000Z.db.manifest.json');
  writeFileSync(manifest, '{}');
  writeFileSync(`${manifest}.123.unfinished`, '{');
  await backUp(series);
  assert.equal(existsSync(unfinished), false);
  // Its process may be one that has not locked the folder.
  assert.equal(existsSync(manifest), true);
  clock.tick(24 * hourMs);
  await backUp(series);
  assert.equal(existsSync(manifest) || existsSync(`${manifest}.123.unfinished`), false);
});

test('of two processes in one folder the second waits, and a clock that is set back finds a free name', async (t) => {
  const { clock, ...series } = await newSeries(t);
  const lock = tryLockFile(join(series.folder, '.plants.lock'));
  const waiting = Promise.withResolvers<void>();
  const ended = runHere(
    argsOf(series, keepAll),
    {},
    {
      showProgress: (doing) => doing.startsWith('waiting for another process') && waiting.resolve(),
    },
  );
  await waiting.promise;
  assert.deepEqual(listed(series), []);
  lock?.[Symbol.dispose]();
  assert.equal((await ended).code, 0);
  assert.equal(listed(series).length, 1);

  clock.tick(900);
  const name = nextName(series.folder, 'plants');
  clock.tick(100);
  assert.equal(basename((await name).file), 'plants-20261123T120001Z.db');
});

test('a folder without backups, with those of several stores, or that is absent is told', async (t) => {
  const { clock, ...series } = await newSeries(t);
  await refused(
    /there is no folder .*absent/,
    ...argsOf({ ...series, folder: '/absent' }, keepAll),
  );
  await refused(/there is no backup with its manifest in the folder/, 'verify', series.folder);
  await backUp(series);
  clock.tick(1_000);
  await backUp({ ...series, store: await newStore(t, 5) });
  const ended = await runHere(['verify', series.folder, ...on('/absent/third.db')]);
  assert.match(
    ended.stderr,
    /^plants-\S+\.db {2}\S+ {2}100 plants, of the store at \S+, identity \w+$/m,
  );
  assert.match(ended.stderr, /^plants-\S+\.db {2}\S+ {2}5 plants, of the store at/m);
  assert.match(ended.stderr, /has backups of 2 stores, and \S+third\.db holds no plants of any/);
  assert.equal(ended.code, 1);
  assert.equal((await doneJson('verify', series.folder, ...on(series.store))).plants, 100);
});
