import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, existsSync, readdirSync, watch } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  create,
  oneThread,
  startProgram,
  startServer,
  storePath,
  temporaryFolder,
} from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';
import { alterStore, newStore, storedPlants } from '../helpers/store-file.ts';

const storeOfVersion1 = fileURLToPath(new URL('../data/store-1.0.0.db', import.meta.url));
/** Of the lines that version 1.0.0 itself has printed. */
const digestOfVersion1 = '38193ba8f6a3a06f1ab616265afb1b3aca9f0ff48549fec174727828d11559ba';

const toSchema7 =
  'ALTER TABLE history DROP COLUMN stopped_at; ALTER TABLE tokens DROP COLUMN made_by; ALTER TABLE tokens DROP COLUMN revoked_by; PRAGMA user_version = 7';

async function oldStore(t: TestContext): Promise<string> {
  const store = await storePath(t);
  copyFileSync(storeOfVersion1, store);
  return store;
}

/** Read from a copy, since SQLite makes files beside what it opens. */
async function plantsOfVersion1(t: TestContext) {
  return storedPlants(await oldStore(t));
}

function schemaOf(path: string): unknown {
  using db = new DatabaseSync(path, { readOnly: true });
  return db.prepare('PRAGMA user_version').get()?.['user_version'];
}

function backupsBeside(store: string): string[] {
  const names = readdirSync(dirname(store)).filter((name) =>
    /^plants\.db\.schema-1-[0-9]{8}T[0-9]{6}Z-[0-9]+$/.test(name),
  );
  return names.map((name) => join(dirname(store), name));
}

test('a store that version 1.0.0 has made is upgraded at the start, after a backup beside it that can be verified', async (t) => {
  const store = await oldStore(t);

  const { plantsUrl, stderr, stop } = await startServer(t, store, oneThread);

  assert.match(
    stderr(),
    /"schema":1.*"the store is of an earlier version; making a backup".*"the store has been upgraded".*"ready"/s,
  );
  assert.equal(schemaOf(store), 9);
  assert.deepEqual(storedPlants(store), await plantsOfVersion1(t));
  assert.equal(
    (await create(plantsUrl, '{"id":9223372036854775807,"name":"Größter","tag":"Ёлка 🌲"}')).status,
    200,
  );
  assert.equal((await create(plantsUrl, '{"id":9007199254740993,"name":"Past 2^53"}')).status, 400);
  assert.equal((await create(plantsUrl, { id: -1, name: 'New' })).status, 200);
  const tokens = await runHere(['token', 'list', '--store', `sqlite:${store}`]);
  assert.match(tokens.stdout, /first-start.*greenhouse.*old.*revoked/s);

  const [backup, ...more] = backupsBeside(store);
  assert(backup !== undefined && more.length === 0);
  assert.equal(schemaOf(backup), 1);
  const verified = await runHere(['verify', backup]);
  assert.deepEqual(
    [verified.code, /^digest +(.*)$/m.exec(verified.stdout)?.[1]],
    [0, digestOfVersion1],
  );
  const doctor = await runHere(['doctor', '--store', `sqlite:${store}`]);
  assert.match(doctor.stdout, /^ok +last backup .*, 23 plants, at .*schema-1/m);

  await stop();
  await (await startServer(t, store, oneThread)).stop();
  assert.deepEqual(backupsBeside(store), [backup]);
});

test('a store of version 1.0.0 with a column more is not upgraded: the line names the column, and the store stays as it is', async (t) => {
  const store = await oldStore(t);
  alterStore(store, 'ALTER TABLE plants ADD COLUMN soil TEXT');

  const { code, stderr } = await runHere(['serve', '--port', '0', '--store', `sqlite:${store}`]);

  assert.match(stderr, /not those of its version: plants has "soil TEXT"; choose another file/);
  assert.equal(code, 1);
  assert.equal(schemaOf(store), 1);
  assert.deepEqual(backupsBeside(store), []);
});

test('verify and backup name the difference of a store whose tables are not those of its version', async (t) => {
  const store = await newStore(t, 2);
  const backup = join(dirname(store), 'backup.db');
  alterStore(store, 'ALTER TABLE plants ADD COLUMN soil TEXT');
  for (const command of [['verify'], ['backup', backup]]) {
    const { code, stderr } = await runHere([...command, '--store', `sqlite:${store}`]);
    assert.match(stderr, /has other tables than its version: plants has "soil TEXT"/);
    assert.equal(code, 1);
  }
  assert.equal(existsSync(backup), false);
});

test('an upgrade that is killed after its backup is done again at the next start', async (t) => {
  const store = await oldStore(t);
  const starting = startProgram(['serve', '--port', '0', '--store', `sqlite:${store}`]);
  const watcher = watch(dirname(store), () => {
    if (backupsBeside(store).length > 0) starting.kill('SIGKILL');
  });
  await once(starting, 'exit');
  watcher.close();
  assert.equal(starting.signalCode, 'SIGKILL');

  await (await startServer(t, store, oneThread)).stop();

  assert.equal(schemaOf(store), 9);
  assert.deepEqual(storedPlants(store), await plantsOfVersion1(t));
  for (const backup of backupsBeside(store))
    assert.equal((await runHere(['verify', backup])).code, 0);
});

test('a store of an earlier version can be looked into and backed up before it is upgraded, and not be written', async (t) => {
  const store = await oldStore(t);
  const named = ['--store', `sqlite:${store}`];

  assert.equal((await runHere(['plants', 'count', ...named])).stdout, '23\n');
  const written = await runHere(['token', 'create', 'another', ...named]);
  assert.deepEqual([written.code, written.stdout], [1, '']);
  assert.match(
    written.stderr,
    /^plant-store: the store at .* is of an earlier plant-store \(schema 1\); "plant-store serve --store sqlite:\/[^"]+" upgrades it\n$/,
  );
  const backup = join(dirname(store), 'backup.db');
  const backedUp = await runHere(['backup', backup, ...named]);
  assert.equal(backedUp.code, 0);
  assert.match(
    backedUp.stderr,
    /The backup could not be recorded in the store: .* of an earlier plant-store/,
  );
  assert.equal((await runHere(['verify', backup])).code, 0);
  assert.equal(schemaOf(store), 1);
});

test('a backup of an earlier version is restored, and upgraded at the next start', async (t) => {
  const old = await oldStore(t);
  const backup = join(dirname(old), 'backup.db');
  await runHere(['backup', backup, '--store', `sqlite:${old}`]);
  const store = join(await temporaryFolder(t), 'data/plants.db');

  assert.equal((await runHere(['restore', backup, '--store', `sqlite:${store}`])).code, 0);

  assert(existsSync(store));
  await (await startServer(t, store, oneThread)).stop();
  assert.equal(schemaOf(store), 9);
  assert.deepEqual(storedPlants(store), await plantsOfVersion1(t));
});

test('a store of schema 5 gets the history at the start, and the service of the version before goes on', async (t) => {
  const store = await storePath(t);
  await (await startServer(t, store, oneThread)).stop();
  {
    using before = new DatabaseSync(store);
    before.exec(
      `${toSchema7}; DROP TABLE history; PRAGMA user_version = 5; PRAGMA journal_mode = WAL`,
    );
    const write = before.prepare("INSERT INTO plants VALUES (?, 'Alder', NULL, 1, 0)");
    write.run(1);
    const server = await startServer(t, store, oneThread);
    write.run(2);
    assert.equal((await create(server.plantsUrl, { id: 2, name: 'Alder' })).status, 200);
    await server.stop();
  }
  assert.equal(schemaOf(store), 9);
  using db = new DatabaseSync(store, { readOnly: true });
  assert.equal(db.prepare('SELECT sum(same) AS n FROM history').get()?.['n'], 1);
});

test('the history of schema 6 is kept, and from then on has the codes of the refusals', async (t) => {
  const store = await storePath(t);
  const before = await startServer(t, store, oneThread);
  assert.equal((await create(before.plantsUrl, { id: 1, name: 'Alder' })).status, 200);
  await before.stop();
  {
    using db = new DatabaseSync(store);
    db.exec(
      `ALTER TABLE history DROP COLUMN refusals; ALTER TABLE history DROP COLUMN refused_senders; ${toSchema7}; PRAGMA user_version = 6`,
    );
  }
  const server = await startServer(t, store, oneThread);
  assert.equal((await create(server.plantsUrl, { id: 1 })).status, 400);
  await server.stop();
  assert.equal(schemaOf(store), 9);
  using db = new DatabaseSync(store, { readOnly: true });
  const rows = db.prepare('SELECT created, refusals FROM history ORDER BY minute_at, started_at');
  assert.deepEqual(
    rows
      .all()
      .filter(({ created, refusals }) => created === 1 || refusals !== '{}')
      .map(Object.values),
    [
      [1, null],
      [0, '{"40001":1}'],
    ],
  );
});

test('a token of schema 7 names no maker, and the service of the version before goes on', async (t) => {
  const store = await storePath(t);
  await (await startServer(t, store, oneThread)).stop();
  using before = new DatabaseSync(store);
  before.exec(
    `${toSchema7};
    INSERT INTO plants VALUES (1, 'Alder', NULL, 1, 1); PRAGMA journal_mode = WAL`,
  );
  // As that version joins the two tables.
  const list = before.prepare(
    'SELECT tokens.name, created_by FROM plants LEFT JOIN tokens ON tokens.id = created_by',
  );
  const make = before.prepare(
    "INSERT INTO tokens (name, hash, role, created_at) VALUES (?, randomblob(32), 'create', 1)",
  );
  make.run('early');

  await (await startServer(t, store, oneThread)).stop();

  assert.equal(schemaOf(store), 9);
  make.run('late');
  assert.deepEqual(list.all().map(Object.values), [['early', 1]]);
  const named = ['--store', `sqlite:${store}`];
  assert.equal((await runHere(['token', 'create', 'new', ...named])).code, 0);
  assert.equal((await runHere(['token', 'revoke', 'early', ...named])).code, 0);
  assert.deepEqual(await makersIn(named), {
    early: [undefined, `command line (${userInfo().username})`],
    late: [undefined, undefined],
    new: [`command line (${userInfo().username})`, undefined],
  });
});

/** Who made and who revoked each token. */
async function makersIn(named: readonly string[]) {
  const { stdout } = await runHere(['token', 'list', '--json', ...named]);
  const tokens = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  return Object.fromEntries(
    tokens.map(({ name, createdBy, revokedBy }) => [name, [createdBy, revokedBy]]),
  );
}
