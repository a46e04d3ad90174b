import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { nextName } from '../../src/backup/folder.ts';
import { type Manifest, manifestText, readManifest } from '../../src/backup/manifest.ts';
import { tryLockFile } from '../../src/store/engines.ts';
import { backupsIn, hourMs, lose, namesIn, newWorld } from '../helpers/backups.ts';
import { flip, offsetOf } from '../helpers/damage.ts';
import { withLimits } from '../helpers/faults.ts';
import { keepCreating } from '../helpers/load.ts';
import { ask } from '../helpers/operators.ts';
import { pause, until } from '../helpers/pause.ts';
import { oneThread, startServer } from '../helpers/program.ts';
import { done, doneJson, on, refused, runHere } from '../helpers/run-here.ts';
import { addPlants, alterStore, makeStore, newStore } from '../helpers/store-file.ts';

/* The backups of stores in a folder: which are removed, and which losses they tell. */

test('old backups are removed after a good one, by the rules; other files stay, and what a killed process has left goes', async (t) => {
  const { folder, backUp, clock } = await newWorld(t);
  mkdirSync(join(folder, 'other'));
  writeFileSync(join(folder, 'plants-notes.db'), 'not a backup');
  const unfinished = join(folder, '.plants.unfinished');
  mkdirSync(unfinished);
  writeFileSync(join(unfinished, 'plants-20261123T110000Z.db'), 'half');
  const manifest = join(folder, 'plants-20261123T110000Z.db.manifest.json');
  writeFileSync(manifest, '{}');
  writeFileSync(`${manifest}.123.unfinished`, '{');
  await backUp();
  assert.equal(existsSync(unfinished), false);
  // Its process may be one that has not locked the folder.
  assert.equal(existsSync(manifest), true);
  clock.tick(24 * hourMs);
  // A step of the clock that is so long removes nothing.
  const before = await backUp();
  const { file, removed } = await backUp();
  assert.deepEqual([before.removed, removed], [0, 1]);
  const left = [before.file, file].flatMap((path) => [path, `${path}.manifest.json`]);
  const names = ['other', ...left.map((path) => basename(path)), 'plants-notes.db'];
  assert.deepEqual(namesIn(folder), names);
  await done('verify', file);
});

test('a clock that is once a year ahead removes no backup, and its backup is not the newest after', async (t) => {
  const { store, folder, backUp, clock } = await newWorld(t);
  const keep = ['--keep', '24h:1h,30d:1d,1y:1w'];
  for (let hour = 0; hour < 2; hour += 1) await backUp(store, ...keep);
  const earlier = backupsIn(folder);
  const rightMs = Date.now();
  clock.tick(400 * 24 * hourMs);
  const { removed, warning } = await backUp(store, ...keep);
  assert.deepEqual([removed, backupsIn(folder).length], [0, 3]);
  assert.match(
    warning,
    /^No older backup was removed: by the clock, which may be wrong, .* 400 days/,
  );

  clock.setTime(rightMs);
  alterStore(store, "INSERT INTO plants VALUES (6, 'Yew', NULL, 1, 0)");
  const { file } = await backUp(store, ...keep);
  assert.deepEqual(backupsIn(folder).slice(0, 2), earlier);
  const newest = await doneJson('verify', folder);
  assert.deepEqual([newest.file, newest.plants], [file, 6]);
});

test('a backup that is damaged does not accuse the store, which is compared with the backup before', async (t) => {
  const { store, folder, backUp, clock } = await newWorld(t, 50);
  await backUp();
  for (const damage of [
    (path: string) => flip(path, offsetOf(path, 'xxxxxxxxxx42')),
    (path: string) => writeFileSync(path, 'broken'.repeat(10_000)),
  ]) {
    const { file } = await backUp();
    damage(file);
    await refused(/differs from its manifest|not an SQLite|is damaged/, 'verify', folder);
    const { warning } = await backUp();
    assert.match(warning, new RegExp(`An earlier backup is bad, and stays: .*${basename(file)}.*`));
    rmSync(file);
  }
  alterStore(store, "UPDATE plants SET name = '' WHERE id = 42");
  clock.tick(hourMs);
  await refused(/has 1 changed \(42\); no backup was made/, 'backup', folder, ...on(store));
});

test('of two processes in one folder the second waits, and a clock that is set back finds a free name', async (t) => {
  const { store, folder, clock } = await newWorld(t);
  const lock = tryLockFile(join(folder, '.plants.lock'));
  const waiting = Promise.withResolvers<void>();
  const showProgress = (doing: string) =>
    doing.startsWith('waiting for another process') && waiting.resolve();
  const args = ['backup', folder, '--keep', '1d:1ms', ...on(store)];
  const ended = runHere(args, {}, { showProgress });
  await waiting.promise;
  assert.deepEqual(backupsIn(folder), []);
  lock?.[Symbol.dispose]();
  assert.equal((await ended).code, 0);
  assert.equal(backupsIn(folder).length, 1);

  clock.tick(900);
  const name = nextName(folder, 'plants');
  clock.tick(100);
  assert.equal(basename((await name).file), 'plants-20261123T120001Z.db');
});

/** Changes a manifest as an earlier version, or another machine, would have written it. */
async function rewrite(backup: string, change: (manifest: Manifest) => object): Promise<void> {
  const manifest = (await readManifest(backup)) as Manifest;
  writeFileSync(`${backup}.manifest.json`, manifestText(change(manifest) as Manifest));
}

const asOfTwo = ({ place: _, holds: _h, lacks: _l, ...old }: Manifest) => old;
const storeOfTwo = fileURLToPath(new URL('../data/store-2.0.0.db', import.meta.url));
const elsewhere = (manifest: Manifest) => ({ ...manifest, place: 'other:/data/plants.db' });

test('a loss that an operator accepts is told no more, also in a copy of the folder, and the next loss is', async (t) => {
  const { store, folder, backUp } = await newWorld(t);
  const { file } = await backUp();
  alterStore(store, 'DELETE FROM plants WHERE id < 3');
  assert.match((await backUp()).warning, /has 2 missing \(1, 2\)/);
  assert.equal((await backUp(store, '--new-store', 'yes')).warning, undefined);
  const copy = `${folder}-2`;
  mkdirSync(copy);
  for (const name of readdirSync(folder)) copyFileSync(join(folder, name), join(copy, name));
  rmSync(folder, { recursive: true });
  renameSync(copy, folder);
  assert.equal((await backUp()).warning, undefined);
  assert.equal((await doneJson('verify', folder)).plants, 3);
  assert(backupsIn(folder).includes(basename(file)));
  alterStore(store, 'DELETE FROM plants WHERE id = 4');
  assert.match((await backUp()).warning, /has 1 missing \(4\)/);
});

test('a store that is back at an older backup by a restore tells no loss, plants with other content no damage, and the fuller backup stays', async (t) => {
  const { store, folder, backUp, clock } = await newWorld(t);
  const older = await backUp();
  alterStore(store, "INSERT INTO plants VALUES (6, 'Yew', NULL, 1, 0)");
  const newer = await backUp();
  await done('restore', older.file, '--overwrite', ...on(store));
  alterStore(store, "INSERT INTO plants VALUES (6, 'Oak', NULL, 1, 0)");
  for (let hour = 0; hour < 3; hour += 1) assert.equal((await backUp()).warning, undefined);
  assert(backupsIn(folder).includes(basename(newer.file)));
  alterStore(store, "UPDATE plants SET name = 'Elm' WHERE id = 6");
  clock.tick(hourMs);
  await refused(/has 1 changed \(6\); no backup was made/, 'backup', folder, ...on(store));
});

test('stores that share a folder and a name are thinned, restored and compared each for itself', async (t) => {
  const { store, folder, backUp } = await newWorld(t);
  await refused(/there is no backup with its manifest in the folder/, 'verify', folder);
  await refused(
    /there is no folder .*absent/,
    'backup',
    '/absent',
    '--keep',
    '1d:1d',
    ...on(store),
  );
  const other = await newStore(t, 3);
  alterStore(other, "UPDATE plants SET name = 'Elm' WHERE id = 1");
  for (let hour = 0; hour < 4; hour += 1)
    for (const one of [store, other]) assert.equal((await backUp(one)).warning, undefined);
  assert(backupsIn(folder).length <= 2 * 3);
  assert.equal((await doneJson('verify', folder, ...on(store))).plants, 5);
  assert.equal((await doneJson('verify', folder, ...on(other))).plants, 3);
  lose(store);
  const { stderr, code } = await runHere(['restore', folder, ...on(store)]);
  assert.match(stderr, /^plants-\S+\.db {2}\S+ {2}5 plants, of the store at \S+, identity \w+$/m);
  assert.match(stderr, /^plants-\S+\.db {2}\S+ {2}3 plants, of the store at/m);
  assert.match(stderr, /has backups of 2 stores, and \S+ holds no plants of any; name the file/);
  assert.equal(code, 1);
});

test('a clone on another machine that shares the folder makes no store tell a loss, and both go on', async (t) => {
  const { store, folder, backUp } = await newWorld(t);
  const { file } = await backUp();
  const clone = join(dirname(store), 'clone.db');
  copyFileSync(file, clone);
  for (let id = 11; id < 13; id += 1) {
    alterStore(store, `INSERT INTO plants VALUES (${id}, 'here', NULL, 1, 0)`);
    alterStore(clone, `INSERT INTO plants VALUES (${id}, 'there', NULL, 1, 0)`);
    for (const one of [clone, store]) assert.equal((await backUp(one)).warning, undefined);
  }
  const { stderr } = await runHere(['restore', folder, ...on(store), '--overwrite']);
  assert.equal(stderr.match(/^(plants|clone)-\S+Z\.db {2}/gm)?.length, 2);
  // A clone that holds all takes the place of no backup of the store, and is not restored for it.
  const last = await backUp();
  const whole = join(dirname(store), 'whole.db');
  copyFileSync(last.file, whole);
  for (let hour = 0; hour < 3; hour += 1) assert.equal((await backUp(whole)).warning, undefined);
  assert(backupsIn(folder).includes(basename(last.file)));
  const again = await runHere(['restore', folder, ...on(store), '--overwrite']);
  assert.match(again.stderr, /the newest backup in \S+ is of a copy of the store in another place/);
  alterStore(store, 'DELETE FROM plants WHERE id = 12');
  assert.match((await backUp()).warning, /^Plants are lost: /);
});

test('what is lost after a restore is told, and a variable that stays set accepts no loss', async (t) => {
  const { store, folder, backUp, clock } = await newWorld(t);
  await backUp();
  await done('restore', folder, '--overwrite', ...on(store));
  alterStore(store, 'DELETE FROM plants WHERE id = 2');
  const env = { PLANT_STORE_NEW_STORE: 'yes' };
  for (let hour = 0; hour < 2; hour += 1) {
    clock.tick(hourMs);
    const { stderr } = await runHere(['backup', folder, ...on(store)], env);
    assert.match(stderr, /^Plants are lost: /m);
  }
});

test('a backup of 2.0 that is restored on purpose is a decision, too', async (t) => {
  const { store, backUp } = await newWorld(t);
  const old = join(dirname(store), 'old', 'plants.db');
  mkdirSync(dirname(old));
  copyFileSync(storeOfTwo, old);
  const { file } = await backUp(old);
  await rewrite(file, asOfTwo);
  copyFileSync(storeOfTwo, store);
  await done('upgrade', ...on(store));
  alterStore(store, "INSERT INTO plants VALUES (77, 'Yew', NULL, 1, 0)");
  await backUp();
  await done('restore', file, '--overwrite', ...on(store));
  for (let hour = 0; hour < 2; hour += 1) assert.equal((await backUp()).warning, undefined);
});

test('manifests of 2.0 count by the names of their files, and none is removed by a store that lacks its plants', async (t) => {
  const { store, folder, backUp } = await newWorld(t);
  copyFileSync(storeOfTwo, store);
  await rewrite((await backUp()).file, asOfTwo);
  const newest = await backUp();
  await rewrite(newest.file, asOfTwo);
  assert.equal((await doneJson('verify', folder)).plants, 22);
  lose(store);
  makeStore(store, 1);
  for (let hour = 0; hour < 3; hour += 1)
    assert.match((await backUp()).warning, /^Plants are lost/);
  assert(backupsIn(folder).includes(basename(newest.file)));
});

test('a store that has moved, and a store without plants, leave no trace of a loss', async (t) => {
  const { store, folder, backUp } = await newWorld(t, 0);
  assert.equal((await backUp()).warning, undefined);
  addPlants(store, 5);
  const { file } = await backUp();
  await rewrite(file, elsewhere);
  alterStore(store, "INSERT INTO plants VALUES (6, 'Yew', NULL, 1, 0)");
  assert.equal((await backUp()).warning, undefined);
  assert.equal((await doneJson('verify', folder)).plants, 6);
});

test('a restore after one that was killed within the same second finds a free name for the replaced store', async (t) => {
  const { store, backUp, clock } = await newWorld(t);
  const { file } = await backUp();
  const taken = `${store}.replaced-20261123T130000Z`;
  writeFileSync(taken, 'of a killed restore');
  const restoring = doneJson('restore', file, '--overwrite', ...on(store));
  clock.tick(1_000);
  assert.equal((await restoring).replaced, `${store}.replaced-20261123T130001Z`);
  assert.equal(readFileSync(taken, 'utf8'), 'of a killed restore');
});

test('the number of plants falls with a loss, and never under load', async (t) => {
  const store = await newStore(t, 5_000);
  const often = withLimits({ ops: { countEveryMs: 1, countPauses: 0, countStepMs: 1 } });
  const server = await startServer(t, store, oneThread, often);
  const load = keepCreating(server.plantsUrl);
  const count = async () => {
    const { body } = await ask(server, 'GET metrics', {});
    return Number(/^plant_store_plants (\d+)$/m.exec(`${body}`)?.[1] ?? 0);
  };
  let most = await until(count, (plants) => plants > 0);
  // Under load, a count takes a second.
  for (let look = 0; look < 100; look += 1) {
    const plants = await count();
    assert(plants >= most, `${plants} after ${most}`);
    most = plants;
    await pause();
  }
  await load.stop();
  alterStore(store, 'DELETE FROM plants WHERE id < 3000');
  await until(count, (plants) => plants < most);
});

test('the first token of a lost store is a trace, but beside another store; and --new-store never makes no store', async (t) => {
  const { store } = await newWorld(t);
  const serve = (store: string, ...flags: string[]) => [
    ...['serve', '--port', '0', ...on(store)],
    ...flags,
  ];
  await refused(
    /there is no store at \S+first\.db, and --new-store never makes none/,
    ...serve(join(dirname(store), 'first.db'), '--new-store', 'never'),
  );
  const folder = join(dirname(store), 'data');
  const other = join(folder, 'plants.db');
  mkdirSync(folder);
  makeStore(other);
  writeFileSync(join(folder, 'first-start.token'), '');
  const next = join(folder, 'next.db');
  await (await startServer(t, next, oneThread)).stop();
  lose(next);
  lose(other);
  await refused(/first-start\.token is its first token/, ...serve(other));
});
