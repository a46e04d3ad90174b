import assert from 'node:assert/strict';
import { once } from 'node:events';
import { closeSync, copyFileSync, openSync, readdirSync, watch, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { namesIn, newStore } from '../helpers/backups.ts';
import { mounted } from '../helpers/mounts.ts';
import { nameOfDatabase, startPostgres } from '../helpers/postgres.ts';
import { makeStore } from '../helpers/postgres-connection.ts';
import {
  create,
  oneThread,
  startProgram,
  startServer,
  storePath,
  temporaryFolder,
} from '../helpers/program.ts';
import { done, doneJson, failed, on, refused, runHere } from '../helpers/run-here.ts';
import { storedPlants } from '../helpers/store-file.ts';

const commonPlants = fileURLToPath(new URL('../data/common-plants.ndjson', import.meta.url));
const server = await startPostgres({ after });

const query = (store: string, sql: string) => server.query(sql, nameOfDatabase(store));

/**
 * A database with the common plants and those at the ends of int64, and with a token that is
 * revoked and one that is not.
 */
async function makeFullDatabase(): Promise<string> {
  const store = await server.makeDatabase();
  await makeStore(store);
  await done('import', commonPlants, ...on(store));
  for (const name of ['revoked', 'my-app']) await done('token', 'create', name, ...on(store));
  await done('token', 'revoke', 'revoked', ...on(store));
  await query(
    store,
    `INSERT INTO plants VALUES (-9223372036854775808, 'Ёлка "1"', '', 1, 1), (9223372036854775807, E'Yew\\n\\t', NULL, 2, 2), (-1, '', NULL, 3, 0)`,
  );
  return store;
}

/** Only read. Made before the first test starts: a database with a session cannot be copied. */
const full = await makeFullDatabase();
const backup = join(await temporaryFolder({ after }), 'backup.db');
await done('backup', backup, ...on(full));

const newDatabase = () => server.makeDatabase(full);

/** What there is of plants and tokens. */
const contentOf = async (store: string) => [
  await query(store, 'SELECT * FROM plants ORDER BY id'),
  await query(store, 'SELECT * FROM tokens ORDER BY id'),
];

test('a backup of a database is a file like that of a file, recorded, and verify finds the same in both', async () => {
  const store = await newDatabase();
  using db = new DatabaseSync(backup, { readOnly: true });
  assert.equal(db.prepare('PRAGMA journal_mode').get()?.['journal_mode'], 'delete');
  const {
    file: _,
    bytes,
    sha256,
    schemaVersion: ofFile,
    ...inFile
  } = await doneJson('verify', backup);
  assert(bytes > 0 && sha256);
  const {
    file: name,
    schemaVersion: ofDatabase,
    ...inDatabase
  } = await doneJson('verify', ...on(store));
  const { plants, largestId, digest } = inFile;
  assert.equal(name, store);
  assert(ofFile && ofDatabase);
  assert.deepEqual(inDatabase, inFile);
  assert.deepEqual([plants, largestId], [103, '9223372036854775807']);
  const recorded = await query(store, 'SELECT file, plants, digest FROM backups');
  assert.deepEqual(recorded, [{ file: backup, plants: '103', digest }]);
});

test('a backup of a database is restored into another database and into a file, and serves there', async (t) => {
  const [other, file] = [await server.makeDatabase(), await storePath(t)];
  const { stderr } = await done('restore', backup, ...on(other));
  assert.match(stderr, /^There was no store at postgres:.*; a new store has been made\.$/m);
  assert.deepEqual(await contentOf(other), await contentOf(await newDatabase()));

  await done('restore', backup, ...on(file));
  const { plantsUrl } = await startServer(t, file, oneThread);
  assert.equal((await create(plantsUrl, { id: 1, name: 'no such' })).status, 400);
  assert.equal((await create(plantsUrl, { id: -1, name: '' })).status, 200);
  assert.equal(storedPlants(file).length, 103);
});

test('a restore that was interrupted is completed by the next, and one into a database with other plants is refused', async () => {
  const other = await server.makeDatabase();
  const restore = ['restore', backup, ...on(other)];
  await done(...restore);
  await query(other, 'DELETE FROM plants WHERE id > 100');
  await done(...restore);
  assert.equal((await query(other, 'SELECT id FROM plants')).length, 103);

  await query(other, `INSERT INTO plants VALUES (-7, 'Mine', NULL, 0, 0)`);
  await query(other, 'DELETE FROM plants WHERE id = 100');
  await refused(/holds other plants \(-7\), which are never overwritten; name another/, ...restore);
  await query(other, 'DELETE FROM plants WHERE id = -7');
  await query(other, `UPDATE plants SET name = 'Mine' WHERE id IN (5, 6)`);
  await refused(/holds other plants \(5, 6\), /, ...restore);
  failed(await runHere([...restore, '--overwrite']), /--overwrite is not possible/, 2);
  assert.equal((await query(other, 'SELECT id FROM plants')).length, 102);
});

test('what is no sound backup is not restored into a database', async (t) => {
  const [folder, other] = [await temporaryFolder(t), await server.makeDatabase()];
  const alone = join(folder, 'alone.db');
  for (const end of ['', '.manifest.json']) copyFileSync(backup + end, alone + end);
  new DatabaseSync(alone).exec('DELETE FROM plants WHERE id = 1');
  const says = /differs from its manifest: plants 103 \(found 102\)/;
  await refused(says, 'restore', alone, ...on(other));
  await refused(/there is no store in postgres:/, 'verify', ...on(other));
});

test('backups of a database in a folder are named after it, compared with the one before, and thinned', async (t) => {
  const [store, folder] = [await newDatabase(), await temporaryFolder(t)];
  t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-11-23T12:00:00Z') });
  const args = ['backup', folder, '--keep', '1h:1h', ...on(store)];
  await done(...args);
  t.mock.timers.tick(2 * 3_600_000);
  assert.equal((await doneJson(...args)).removed, 1);
  const name = `${nameOfDatabase(store)}-20261123T140000Z.db`;
  assert.deepEqual(namesIn(folder), [name, `${name}.manifest.json`]);

  await query(store, `UPDATE plants SET name = 'Abied' WHERE id = 1`);
  await query(store, 'DELETE FROM plants WHERE id = 2');
  t.mock.timers.tick(2 * 3_600_000);
  const says =
    /of the 103 plants in .*, the store at .* has 1 changed \(1\), and 1 missing \(2\); /;
  await refused(says, ...args);
  await refused(says, 'verify', '--against', folder, ...on(store));
  assert.equal(namesIn(folder).length, 2);
});

test('verify tells a database of which a page is damaged, and a backup of it is not made', async (t) => {
  const [store, folder] = [await newDatabase(), await temporaryFolder(t)];
  const [file] = await query(store, `SELECT pg_relation_filepath('plants') AS path`);
  await server.stop('fast');
  const pages = openSync(join(server.folder, `${file?.['path']}`), 'r+');
  writeSync(pages, Buffer.alloc(64, 0xff), 0, 64, 8_192);
  closeSync(pages);
  await server.start();
  await refused(/is damaged \(invalid page in block 1 .*\); restore it/, 'verify', ...on(store));
  await refused(/invalid page in block 1/, 'backup', join(folder, 'b.db'), ...on(store));
  assert.deepEqual(readdirSync(folder), []);
});

test('a disk that becomes full during a backup of a database is an error, and nothing is left behind', async (t) => {
  const folder = mounted(t, 'size=65536');
  if (folder === undefined) return;
  const args = ['backup', join(folder, 'b.db'), ...on(await newDatabase())];
  await refused(/cannot (copy|open) the store .*disk/, ...args);
  assert.deepEqual(readdirSync(folder), []);
});

test('a backup of a database that is interrupted leaves nothing', async (t) => {
  const [store, folder] = [await newDatabase(), await temporaryFolder(t)];
  await query(
    store,
    `INSERT INTO plants SELECT id, 'plant ' || id, NULL, 0, 0 FROM generate_series(1000, 100000) AS ids (id)`,
  );
  const watcher = watch(folder);
  const child = startProgram(['backup', join(folder, 'b.db'), ...on(store)]);
  const exit = once(child, 'exit');
  await once(watcher, 'change');
  watcher.close();
  child.kill('SIGINT');
  assert.deepEqual(await exit, [null, 'SIGINT']);
  assert.deepEqual(readdirSync(folder), []);
});

test('a store that is copied from a file into a database, and backs up under two of its names, is one store without a loss', async (t) => {
  const [file, url] = [await newStore(t, 5), await server.makeDatabase()];
  const folder = await temporaryFolder(t);
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  const backUp = (store: string) => {
    t.mock.timers.tick(3_600_000);
    return doneJson('backup', folder, '--keep', '1s:1s', ...on(store));
  };
  await backUp(file);
  await done('copy', `sqlite:${file}`, url);
  const otherName = url.replace('127.0.0.1', 'localhost');
  assert.notEqual(otherName, url);
  // Each name keeps its newest, so that each node finds what it has backed up.
  for (const [store, removed] of [
    [url, 0],
    [otherName, 0],
    [url, 1],
  ] as const) {
    await query(url, 'INSERT INTO plants SELECT max(id) + 1, $$Yew$$, NULL, 1, 0 FROM plants');
    const made = await backUp(store);
    assert.deepEqual([made.warning, made.removed], [undefined, removed]);
  }
  const { identity } = await doneJson('verify', ...on(url));
  assert.equal((await doneJson('verify', ...on(file))).identity, identity);
  assert.equal((await doneJson('verify', folder)).plants, 8);

  await query(url, 'DELETE FROM plants WHERE id = 6');
  const lost = /^Plants are lost: .*\. Bring the plants back, also while services run, with /;
  for (const store of [otherName, url]) assert.match((await backUp(store)).warning, lost);
  const another = await server.makeDatabase();
  const trace = ['serve', '--port', '0', '--backup-to', folder];
  await query(url, 'DROP TABLE plant_store, plants, tokens, sessions, backups, heartbeat');
  await refused(/there was one: \S+Z\.db is a backup of it with \d plants/, ...trace, ...on(url));
  const { stderr } = await runHere(['doctor', '--backup-to', folder, ...on(another)]);
  assert.doesNotMatch(stderr, /there was one/);
});

test('a database that is restored from an older backup tells no loss', async (t) => {
  const [folder, url] = [await temporaryFolder(t), await newDatabase()];
  const backUp = () => doneJson('backup', folder, ...on(url));
  const { file: older } = await backUp();
  await query(url, "INSERT INTO plants VALUES (7777, 'Yew', NULL, 1, 0)");
  await backUp();
  await query(url, 'TRUNCATE plants');
  await done('restore', older, ...on(url));
  for (const _ of [1, 2]) assert.equal((await backUp()).warning, undefined);
});
