import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  lstatSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readManifest } from '../../src/backup/manifest.ts';
import { namesIn } from '../helpers/backups.ts';
import { flip, offsetOf } from '../helpers/damage.ts';
import { keepCreating } from '../helpers/load.ts';
import { mounted } from '../helpers/mounts.ts';
import { nameIn, until } from '../helpers/pause.ts';
import { nameOfDatabase, sharedPostgres } from '../helpers/postgres.ts';
import { makeStore } from '../helpers/postgres-connection.ts';
import {
  create,
  type Owner,
  oneThread,
  startInTest,
  startServer,
  storePath,
  temporaryFolder,
} from '../helpers/program.ts';
import { done, doneJson, failed, on, refused, runHere } from '../helpers/run-here.ts';
import { alterStore, newStore, storedPlants } from '../helpers/store-file.ts';

async function newBackup(owner: Owner, plants = 3): Promise<string> {
  const path = join(await temporaryFolder(owner), 'backup.db');
  await done('backup', path, ...on(await newStore(owner, plants)));
  return path;
}

/** Backups that are only read: one of three plants, and one that takes a command some time. */
const [sound, large] = [await newBackup({ after }), await newBackup({ after }, 20_000)];

/** A backup like `sound`, in a folder of its own. */
async function copyOfSound(t: TestContext): Promise<string> {
  const copy = join(await temporaryFolder(t), 'backup.db');
  for (const end of ['', '.manifest.json']) copyFileSync(sound + end, copy + end);
  return copy;
}

const commonPlants = fileURLToPath(new URL('../data/common-plants.ndjson', import.meta.url));
const server = await sharedPostgres({ after });

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
const fullDatabase = await makeFullDatabase();
const ofDatabase = join(await temporaryFolder({ after }), 'backup.db');
await done('backup', ofDatabase, ...on(fullDatabase));

const newDatabase = () => server.makeDatabase(fullDatabase);

/** What there is of plants and tokens. */
const contentOf = async (store: string) => [
  await query(store, 'SELECT * FROM plants ORDER BY id'),
  await query(store, 'SELECT * FROM tokens ORDER BY id'),
];

test('a backup is one plain file with its manifest, both for their owner only, and verify finds both sound', async (t) => {
  const store = await newStore(t);
  alterStore(
    store,
    `INSERT INTO plants VALUES (-9223372036854775808, 'Ёлка "1"', '', 1, 1), (2, '', NULL, 1, 1), (9223372036854775807, 'Yew', 'Taxus', 1, 0)`,
  );
  const path = join(await temporaryFolder(t), 'backup.db');
  const { file, ...printed } = await doneJson('backup', path, ...on(store));

  assert.deepEqual(namesIn(dirname(path)), ['backup.db', 'backup.db.manifest.json']);
  for (const file of [path, `${path}.manifest.json`])
    assert.equal((statSync(file).mode & 0o777).toString(8), '600');
  assert.deepEqual(storedPlants(path), storedPlants(store));
  using db = new DatabaseSync(path, { readOnly: true });
  assert.equal(db.prepare('PRAGMA journal_mode').get()?.['journal_mode'], 'delete');

  const manifest = await readManifest(path);
  assert.deepEqual({ file, ...printed }, { file: path, ...Object(manifest) });
  const { createdAt, checkedAt, version, place, ...held } = printed;
  assert.equal(place, `${hostname()}:${store}`);
  assert(createdAt <= checkedAt && version);
  assert.deepEqual([held.plants, held.largestId], [3, '9223372036854775807']);
  assert.equal(held.bytes, statSync(path).size);
  assert.equal(held.sha256, createHash('sha256').update(readFileSync(path)).digest('hex'));
  assert.deepEqual(await doneJson('verify', path), { file: path, ...held });
  const { bytes: _, sha256: _sha, ...stored } = held;
  assert.deepEqual(await doneJson('verify', ...on(store)), { file: store, ...stored });
  const { stdout } = await done('export', ...on(store));
  assert.equal(held.digest, createHash('sha256').update(stdout).digest('hex'));
});

test('a backup never overwrites a file, and does not make a folder', async (t) => {
  const [store, folder] = [await newStore(t, 3), await temporaryFolder(t)];
  const to = (name: string) => ['backup', join(folder, name), ...on(store)];
  for (const name of ['one.db', 'two.db.manifest.json']) writeFileSync(join(folder, name), 'mine');
  await refused(/one\.db exists already, and a backup overwrites no file/, ...to('one.db'));
  await refused(/two\.db\.manifest\.json exists already/, ...to('two.db'));
  await refused(/there is no folder .*missing/, ...to('missing/backup.db'));
  assert.deepEqual(namesIn(folder), ['one.db', 'two.db.manifest.json']);
  for (const name of namesIn(folder))
    assert.equal(readFileSync(join(folder, name), 'utf8'), 'mine');
});

test('beside a service under load, a backup is of one moment and has every plant acknowledged before, a restore is refused, and no create is', async (t) => {
  const store = await newStore(t, 2_000);
  const { plantsUrl, stop } = await startServer(t, store, oneThread);
  const load = keepCreating(plantsUrl);
  const folder = await temporaryFolder(t);
  await load.acknowledgedMore(20);
  const backUp = async () => {
    const before = [...load.acknowledged];
    const path = join(folder, `${namesIn(folder).length}.db`);
    await done('backup', path, ...on(store));
    return { path, before, meanwhile: load.acknowledged.length - before.length };
  };
  // A backup may be over before the server has had so many creates.
  const { path, before } = await until(backUp, ({ meanwhile }) => meanwhile > 10);
  const isStore = /is a store and not a backup, because plants may be in /;
  await refused(isStore, 'restore', store, '--overwrite', ...on(await newStore(t, 3)));
  const inUse = /another process has the store at .* open; stop the service/;
  await refused(inUse, 'restore', sound, '--overwrite', ...on(store));
  await load.stop();
  await done('verify', '--against', path, ...on(store));
  const held = new Set(storedPlants(path).map(([id]) => Number(id)));
  const missing = before.filter((id) => !held.has(id));
  assert.deepEqual(missing, []);
  assert.equal(await stop(), 0);
  assert.equal(storedPlants(store).length, 2_000 + load.acknowledged.length);
  await done('restore', sound, '--overwrite', ...on(store));
  assert.equal(storedPlants(store).length, 3);
});

test('a store restored elsewhere serves: the old token is admitted, a retry is safe, new plants are stored; no file is for others, or has the secret', async (t) => {
  const store = join(await temporaryFolder(t), 'data/plants.db');
  const old = await startServer(t, store, oneThread, {});
  const isRoot = process.getuid?.() === 0;
  assert.equal(/"warn".*runs as root/.test(old.stderr()), isRoot);
  const firstToken = join(dirname(store), 'first-start.token');
  const secret = readFileSync(firstToken, 'utf8').trimEnd();
  const headers = { Authorization: `Bearer ${secret}` };
  assert.equal((await create(old.plantsUrl, { id: 1, name: 'Alder' }, headers)).status, 200);
  const backup = join(await temporaryFolder(t), 'backup.db');
  await done('backup', backup, ...on(store));
  const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);
  assert.deepEqual([mode(dirname(store)), mode(firstToken)], ['750', '600']);
  const written = ['', '-wal', '-shm'].map((end) => store + end);
  for (const file of [...written, backup]) {
    assert.equal(mode(file), '600', file);
    assert(!readFileSync(file).includes(secret), file);
  }
  await old.stop('SIGKILL');

  const elsewhere = join(await temporaryFolder(t), 'new/data/plants.db');
  const { stderr } = await done('restore', backup, ...on(elsewhere));
  assert.match(stderr, /^There was no store at .*; a new store has been made\.$/m);
  assert.match(stderr, /^The store at .* now holds the backup /m);
  assert.deepEqual(namesIn(dirname(elsewhere)), ['plants.db']);
  assert.equal(mode(elsewhere), '600');
  const { plantsUrl } = await startServer(t, elsewhere, oneThread, {});
  for (const [id, name, status] of [
    [1, 'Alder', 200],
    [2, 'Alder', 200],
    [1, 'Birch', 400],
  ] as const)
    assert.equal((await create(plantsUrl, { id, name }, headers)).status, status);
});

/** What can happen to a backup, and what verify and restore say then. */
const damages: readonly (readonly [
  what: string,
  damage: (backup: string) => void,
  says: RegExp,
])[] = [
  [
    'a bit flipped in the name of a plant',
    (path) => flip(path, offsetOf(path, 'xxxxxxxxxx2')),
    /differs from its manifest: digest \w+ \(found \w+\), sha256 \w+ \(found \w+\)/,
  ],
  [
    'a bit flipped where no plant is',
    (path) => flip(path, statSync(path).size - 2_000),
    /differs from its manifest: sha256|is damaged/,
  ],
  ['a bit flipped in the structure of a page', (path) => flip(path, 4_099), /is damaged \(/],
  [
    'a bit flipped in its manifest',
    (path) => flip(`${path}.manifest.json`, 20),
    /the manifest .* is damaged/,
  ],
  [
    'the manifest of another backup',
    (path) => copyFileSync(`${large}.manifest.json`, `${path}.manifest.json`),
    /differs from its manifest: .*, plants 20000 \(found 3\)/,
  ],
  ['nothing in it', (path) => truncateSync(path, 0), /is not a plant store/],
  [
    'text in its place',
    (path) => writeFileSync(path, 'Water the alder.\n'.repeat(1_000)),
    /is not an SQLite database/,
  ],
  [
    'a newer schema',
    (path) => alterStore(path, 'PRAGMA user_version = 99'),
    /was made by a newer plant-store \(schema 99/,
  ],
];

test('a damaged backup is found by verify and refused by restore, which leaves the store as it is', async (t) => {
  for (const [what, damage, says] of damages) {
    const backup = await copyOfSound(t);
    damage(backup);
    const { code, stderr } = await runHere(['verify', backup]);
    assert.match(stderr, says, what);
    assert.equal(code, 1);
  }
  const [store, database] = [await newStore(t, 2), await server.makeDatabase()];
  const backup = await copyOfSound(t);
  alterStore(backup, 'DELETE FROM plants WHERE id = 1');
  const says = /differs from its manifest: plants 3 \(found 2\)/;
  await refused(says, 'restore', backup, '--overwrite', ...on(store));
  assert.equal(storedPlants(store).length, 2);
  assert.deepEqual(namesIn(dirname(store)), ['plants.db']);
  await refused(says, 'restore', backup, ...on(database));
  await refused(/there is no store in postgres:/, 'verify', ...on(database));
});

test('no byte of a manifest can change unnoticed, and a pipe or a huge file is no manifest', async (t) => {
  const backup = await copyOfSound(t);
  const path = `${backup}.manifest.json`;
  const { length } = readFileSync(path);
  for (let offset = 0; offset < length; offset += 1) {
    flip(path, offset);
    assert.equal(await readManifest(backup), 'damaged', `byte ${offset}`);
    flip(path, offset);
  }
  assert.equal(Object(await readManifest(backup)).plants, 3);
  truncateSync(path, 4 * 1_024 ** 3);
  assert.equal(await readManifest(backup), 'damaged');
  rmSync(path);
  spawnSync('mkfifo', [path]);
  assert.equal(await readManifest(backup), 'damaged');
});

test('verify --against finds a bit that was flipped in a name, which SQLite cannot see, and a missing plant', async (t) => {
  const store = await newStore(t, 3);
  const backup = join(dirname(store), 'backup.db');
  await done('backup', backup, ...on(store));
  const against = ['verify', '--against', backup, '--json', ...on(store)];
  const figures = { store, backup, plants: 3 };
  const sound = { ...figures, changed: 0, missing: 0 };
  assert.deepEqual(JSON.parse((await done(...against)).stdout), sound);
  flip(store, offsetOf(store, 'xxxxxxxxxx2'));
  alterStore(
    store,
    "DELETE FROM plants WHERE id = 3; INSERT INTO plants VALUES (9, '', NULL, 1, 0)",
  );
  await done('verify', ...on(store));
  const ended = await runHere(against);
  failed(
    ended,
    /of the 3 plants in \S+backup\.db, the store at \S+ has 1 changed \(2\), and 1 missing \(3\); stop the service, and restore the backup/,
  );
  assert.deepEqual(JSON.parse(ended.stdout), { ...figures, changed: 1, missing: 1 });
});

test('verify tells a store that is damaged, and a missing one', async (t) => {
  const store = await newStore(t, 1_000);
  flip(store, 5 * 4_096 + 3);
  const says = /the store at .* is damaged \(.*; restore it from a backup/;
  await refused(says, 'verify', ...on(store));
  await refused(/there is no store at/, 'verify', ...on(`${store}2`));
  await refused(/there is no file .*plants\.db2 to verify/, 'verify', `${store}2`);
});

test('a trigger makes no backup unsound: verify tells it, and restore leaves it out', async (t) => {
  const store = await newStore(t, 3);
  alterStore(
    store,
    `CREATE TRIGGER thief AFTER INSERT ON plants BEGIN DELETE FROM plants; END;
     CREATE TRIGGER "a ""second""" AFTER INSERT ON Tokens BEGIN SELECT 1; END;
     CREATE TABLE others (id); CREATE TRIGGER theirs AFTER INSERT ON others BEGIN SELECT 1; END`,
  );
  const names = 'the trigger thief on plants and the trigger a "second" on Tokens';
  const does = 'which may change or remove what is stored';
  failed(
    await runHere(['verify', ...on(store)]),
    RegExp(`what was read is sound, but the store has ${names}, ${does}; find`),
  );
  const [backup, other] = [join(await temporaryFolder(t), 'backup.db'), await storePath(t)];
  assert.match(
    (await done('backup', backup, ...on(store))).stderr,
    RegExp(`not be recorded in the store: .*${names}`),
  );
  assert.match(
    (await done('verify', backup)).stderr,
    RegExp(
      `matches its manifest\\.\nThe backup has ${names}, ${does}\\. "restore" leaves this out\\.\n`,
    ),
  );

  const restored = await done('restore', backup, ...on(other));

  assert.match(
    restored.stderr,
    RegExp(`The backup has ${names}, ${does}\\. The restored store has none\\.`),
  );
  using db = new DatabaseSync(other);
  const left = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all();
  assert.deepEqual(
    left.map(({ name }) => name),
    ['theirs'],
  );
  await done('token', 'create', 'app', ...on(other));
  assert.equal(storedPlants(other).length, 3);
});

test('without its manifest a backup is not found good by verify, and restored with a word about it', async (t) => {
  const backup = join(await temporaryFolder(t), 'alone.db');
  copyFileSync(sound, backup);
  await refused(/alone\.db is sound, but without .*manifest\.json it is unknown/, 'verify', backup);
  const store = await storePath(t);
  const { stderr } = await done('restore', backup, ...on(store));
  assert.match(stderr, /alone\.db has no manifest, and was only checked for damage\.$/m);
  assert.equal(storedPlants(store).length, 3);
});

test('restore replaces a store that holds plants only with --overwrite, and keeps it', async (t) => {
  const store = await newStore(t, 2);
  const restore = (source: string) => ['restore', source, '--overwrite', ...on(store)];
  await refused(/is the store itself/, ...restore(store));
  await refused(/there is no backup with its manifest in the folder/, ...restore(dirname(store)));
  await refused(/there is no file .* to restore/, ...restore(`${store}.absent`));
  await refused(/holds plants; --overwrite replaces it/, 'restore', sound, ...on(store));
  assert.equal(storedPlants(store).length, 2);
  const { replaced, ...restored } = await doneJson('restore', sound, '--overwrite', ...on(store));
  assert.deepEqual(restored, { ...(await doneJson('verify', sound)), file: store });
  assert.deepEqual([storedPlants(store).length, storedPlants(replaced).length], [3, 2]);
  assert.deepEqual(namesIn(dirname(store)).length, 2);
  // The way back. A reader of a store leaves an empty WAL, and a link may have no target yet.
  writeFileSync(`${replaced}-wal`, '');
  const [again, link] = ['again.db', 'link.db'].map((name) => join(dirname(store), name)) as [
    string,
    string,
  ];
  symlinkSync('again.db', link);
  await done('restore', replaced, ...on(link));
  assert.equal(storedPlants(again).length, 2);
  const { file, replaced: old } = await doneJson('restore', sound, '--overwrite', ...on(link));
  assert.deepEqual([file, dirname(old)], [again, dirname(store)]);
  assert.deepEqual([storedPlants(link).length, storedPlants(old).length], [3, 2]);
  assert(lstatSync(link).isSymbolicLink());
});

test('restore replaces a store without plants as it is, and one that is no database any more with its logs', async (t) => {
  const [empty, broken] = [await newStore(t), await newStore(t, 3)];
  await done('restore', sound, ...on(empty));
  assert.equal(storedPlants(empty).length, 3);
  for (const end of ['', '-wal', '-shm']) writeFileSync(broken + end, 'broken'.repeat(2_000));
  await refused(/is not a plant store/, 'restore', sound, ...on(broken));
  await done('restore', sound, '--overwrite', ...on(broken));
  assert.equal(storedPlants(broken).length, 3);
  const [, kept = '', ...logs] = namesIn(dirname(broken));
  assert.equal(readFileSync(join(dirname(broken), kept), 'utf8'), 'broken'.repeat(2_000));
  assert.deepEqual(logs, [`${kept}-shm`, `${kept}-wal`]);
});

/** The path that a command writes beside, and the command. */
type Prepared = readonly [path: string, ...args: string[]];

/**
 * Starts a command, and sends the signal when the command has begun to write beside `path`. For one
 * that has ended before the signal came, another is prepared.
 */
async function interrupted(
  t: TestContext,
  signal: NodeJS.Signals,
  prepare: () => Promise<Prepared>,
): Promise<{ readonly path: string; readonly stderr: string }> {
  for (let tries = 0; tries < 10; tries += 1) {
    const [path, ...args] = await prepare();
    const appeared = nameIn(dirname(path), (name) => name.includes('.unfinished-'));
    const { child, ended } = startInTest(t, args);
    await Promise.race([appeared, ended]);
    child.kill(signal);
    const { stderr } = await ended;
    if (child.signalCode === signal) return { path, stderr };
    assert.equal(child.exitCode, 0, stderr);
  }
  assert.fail(`${signal} ends no command`);
}

async function newBackupOf(t: TestContext, store: string): Promise<Prepared> {
  const path = join(await temporaryFolder(t), 'b.db');
  return [path, 'backup', path, ...on(store)];
}

test('a signal ends a backup and a restore at once, which leaves all as it was', async (t) => {
  const database = await newDatabase();
  await query(
    database,
    `INSERT INTO plants SELECT id, 'plant ' || id, NULL, 0, 0 FROM generate_series(1000, 50000) AS ids (id)`,
  );
  for (const [signal, from] of [
    ['SIGINT', large],
    ['SIGTERM', database],
  ] as const) {
    const { path, stderr } = await interrupted(t, signal, () => newBackupOf(t, from));
    assert.match(stderr, saysStopped(signal, 'backup'));
    assert.deepEqual(namesIn(dirname(path)), []);
  }
  const { path: store, stderr } = await interrupted(t, 'SIGINT', async () => {
    const path = await newStore(t, 2);
    return [path, 'restore', large, '--overwrite', ...on(path)];
  });
  assert.match(stderr, saysStopped('SIGINT', 'restore'));
  assert.deepEqual(namesIn(dirname(store)), ['plants.db']);
  assert.equal(storedPlants(store).length, 2);
});

const saysStopped = (signal: string, what: string) =>
  new RegExp(`^plant-store: ${signal} has stopped the ${what} before its end; .*\n$`);

test('a backup that is killed leaves no file under a final name, and is not in the way of the next', async (t) => {
  const { path } = await interrupted(t, 'SIGKILL', () => newBackupOf(t, large));
  const [left = '', ...rest] = namesIn(dirname(path));
  assert.match(left, /^b\.db\.unfinished-/);
  assert.deepEqual(rest, []);
  await done('backup', path, ...on(await newStore(t, 3)));
});

test('a disk that is too small for a backup, or for what is to be restored, is found at once', async (t) => {
  const store = await copyOfSound(t);
  const folder = mounted(t, `size=${statSync(store).size - 4_096}`);
  if (folder === undefined) return;
  const says = /the disk is too full: [0-9.]+ [KM]iB are needed in .*, and [0-9.]+ [KM]iB are free/;
  await refused(says, 'backup', join(folder, 'b.db'), ...on(store));
  await refused(says, 'restore', store, ...on(join(folder, 'plants.db')));
  assert.deepEqual(namesIn(folder), []);
});

test('a disk that becomes full during a backup is an error, and nothing is left behind', async (t) => {
  const store = await newStore(t, 5_000);
  // The pages alone would fit, and not the journal of SQLite beside them.
  for (const [one, bytes] of [
    [store, statSync(store).size],
    [await newDatabase(), 65_536],
  ] as const) {
    const folder = mounted(t, `size=${bytes}`);
    if (folder === undefined) return;
    const says = /cannot (copy|open) the store .*disk/;
    await refused(says, 'backup', join(folder, 'b.db'), ...on(one));
    assert.deepEqual(namesIn(folder), []);
  }
});

test('a backup of a database is a file like that of a file, recorded, and verify finds the same in both', async () => {
  const store = await newDatabase();
  using db = new DatabaseSync(ofDatabase, { readOnly: true });
  assert.equal(db.prepare('PRAGMA journal_mode').get()?.['journal_mode'], 'delete');
  const {
    file: _,
    bytes,
    sha256,
    schemaVersion: ofFile,
    ...inFile
  } = await doneJson('verify', ofDatabase);
  assert(bytes > 0 && sha256);
  const {
    file: name,
    schemaVersion: inStore,
    ...inDatabase
  } = await doneJson('verify', ...on(store));
  const { plants, largestId, digest } = inFile;
  assert.equal(name, store);
  assert(ofFile && inStore);
  assert.deepEqual(inDatabase, inFile);
  assert.deepEqual([plants, largestId], [103, '9223372036854775807']);
  const recorded = await query(store, 'SELECT file, plants, digest FROM backups');
  assert.deepEqual(recorded, [{ file: ofDatabase, plants: '103', digest }]);
});

test('a backup of a database is restored into another database and into a file', async (t) => {
  const [other, file] = [await server.makeDatabase(), await storePath(t)];
  const { stderr } = await done('restore', ofDatabase, ...on(other));
  assert.match(stderr, /^There was no store at postgres:.*; a new store has been made\.$/m);
  assert.deepEqual(await contentOf(other), await contentOf(await newDatabase()));
  await done('restore', ofDatabase, ...on(file));
  assert.deepEqual(storedPlants(file), storedPlants(ofDatabase));
});

test('a restore that was interrupted is completed by the next, and one into a database with other plants is refused', async () => {
  const other = await server.makeDatabase();
  const restore = ['restore', ofDatabase, ...on(other)];
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

test('a database that is restored from an older backup tells no loss', async (t) => {
  const [folder, url] = [await temporaryFolder(t), await newDatabase()];
  const backUp = () => doneJson('backup', folder, ...on(url));
  const { file: older } = await backUp();
  await query(url, "INSERT INTO plants VALUES (7777, 'Yew', NULL, 1, 0)");
  await backUp();
  await query(url, 'TRUNCATE plants');
  await done('restore', older, ...on(url));
  assert.equal((await backUp()).warning, undefined);
});
