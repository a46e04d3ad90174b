import assert from 'node:assert/strict';
import {
  copyFileSync,
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
import { type Manifest, manifestText, readManifest } from '../../src/backup/manifest.ts';
import { backupsIn, hourMs, lose, newStore, newWorld } from '../helpers/backups.ts';
import { withLimits } from '../helpers/faults.ts';
import { keepCreating } from '../helpers/load.ts';
import { ask } from '../helpers/operators.ts';
import { until } from '../helpers/pause.ts';
import { oneThread, runProgram, startServer } from '../helpers/program.ts';
import { done, doneJson, on, refused, runHere } from '../helpers/run-here.ts';
import { addPlants, alterStore, makeStore } from '../helpers/store-file.ts';

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

test('a store that is back at an older backup by a restore tells no loss, and plants with other content no damage', async (t) => {
  const { store, folder, backUp, tick } = await newWorld(t);
  const older = await backUp();
  alterStore(store, "INSERT INTO plants VALUES (6, 'Yew', NULL, 1, 0)");
  const newer = await backUp();
  await done('restore', older.file, '--overwrite', ...on(store));
  alterStore(store, "INSERT INTO plants VALUES (6, 'Oak', NULL, 1, 0)");
  for (let hour = 0; hour < 3; hour += 1) assert.equal((await backUp()).warning, undefined);
  assert(backupsIn(folder).includes(basename(newer.file)));
  alterStore(store, "UPDATE plants SET name = 'Elm' WHERE id = 6");
  tick(hourMs);
  const { stderr } = await runHere(['backup', folder, ...on(store)]);
  assert.match(stderr, /has 1 changed \(6\); no backup was made/);
});

test('three stores that share a folder and a name are thinned, restored and compared each for itself', async (t) => {
  const { store, folder, backUp } = await newWorld(t);
  const others = [await newStore(t, 3), await newStore(t, 4)];
  for (const other of others) alterStore(other, "UPDATE plants SET name = 'Elm' WHERE id = 1");
  for (let hour = 0; hour < 4; hour += 1)
    for (const one of [store, ...others]) {
      const { warning } = await backUp(one);
      assert.equal(warning, undefined);
    }
  assert(backupsIn(folder).length <= 3 * 3);
  for (const [one, plants] of [
    [store, 5],
    [others[0], 3],
    [others[1], 4],
  ] as const)
    assert.equal((await doneJson('verify', folder, ...on(`${one}`))).plants, plants);
  lose(store);
  const { stderr, code } = await runHere(['restore', folder, ...on(store)]);
  assert.match(stderr, /has backups of 3 stores, and \S+ holds no plants of any; name the file/);
  assert.equal(stderr.match(/^plants-\S+Z\.db {2}/gm)?.length, 3);
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
  const { store, folder, backUp, tick } = await newWorld(t);
  await backUp();
  await done('restore', folder, '--overwrite', ...on(store));
  alterStore(store, 'DELETE FROM plants WHERE id = 2');
  const env = { PLANT_STORE_NEW_STORE: 'yes' };
  for (let hour = 0; hour < 2; hour += 1) {
    tick(hourMs);
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
  await runProgram(['upgrade', ...on(store)]);
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
  const { store, backUp, tick } = await newWorld(t);
  const { file } = await backUp();
  const taken = `${store}.replaced-20261123T130000Z`;
  writeFileSync(taken, 'of a killed restore');
  const restoring = doneJson('restore', file, '--overwrite', ...on(store));
  tick(1_000);
  assert.equal((await restoring).replaced, `${store}.replaced-20261123T130001Z`);
  assert.equal(readFileSync(taken, 'utf8'), 'of a killed restore');
});

test('the number of plants falls with a loss, and never under load', async (t) => {
  const store = await newStore(t, 20_000);
  const often = withLimits({
    ops: { countEveryMs: 1, countPauses: 0, countStepMs: 1, countSettlesMs: 100 },
  });
  const server = await startServer(t, store, oneThread, often);
  const load = keepCreating(server.plantsUrl);
  const count = async () => {
    const { body } = await ask(server, 'GET metrics', {});
    return Number(/^plant_store_plants (\d+)$/m.exec(`${body}`)?.[1] ?? 0);
  };
  let most = await until(count, (plants) => plants > 0);
  for (let look = 0; look < 50; look += 1) {
    const plants = await count();
    assert(plants >= most, `${plants} after ${most}`);
    most = plants;
  }
  await load.stop();
  alterStore(store, 'DELETE FROM plants WHERE id < 10000');
  await until(count, (plants) => plants < most);
});

test('the first token of a lost store is a trace, but beside another store; and --new-store never makes no store', async (t) => {
  const { store } = await newWorld(t);
  const first = join(dirname(store), 'first.db');
  const serve = (store: string, ...flags: string[]) => [
    'serve',
    '--port',
    '0',
    ...on(store),
    ...flags,
  ];
  await refused(
    /there is no store at \S+first\.db, and --new-store never makes none/,
    ...serve(first, '--new-store', 'never'),
  );
  const folder = join(dirname(store), 'data');
  const other = join(folder, 'plants.db');
  await (await startServer(t, other, oneThread, {})).stop();
  const next = join(folder, 'next.db');
  await (await startServer(t, next, oneThread)).stop();
  lose(next);
  lose(other);
  await refused(/first-start\.token is its first token/, ...serve(other));
});
