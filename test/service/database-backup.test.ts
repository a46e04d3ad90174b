import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  closeSync,
  copyFileSync,
  openSync,
  readdirSync,
  statSync,
  watch,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { mounted } from '../helpers/mounts.ts';
import { nameOfDatabase, startPostgres } from '../helpers/postgres.ts';
import { makeStore } from '../helpers/postgres-connection.ts';
import {
  create,
  type Ended,
  oneThread,
  startProgram,
  startServer,
  temporaryFolder,
} from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';
import { storedPlants } from '../helpers/store-file.ts';

const commonPlants = fileURLToPath(new URL('../data/common-plants.ndjson', import.meta.url));
const server = await startPostgres({ after });

const query = (store: string, sql: string) => server.query(sql, nameOfDatabase(store));

function succeeded({ code, stdout, stderr }: Ended): string {
  assert.equal(code, 0, stderr);
  return stdout;
}

/** One line for the operator that matches, and nothing else on standard error. */
function failed({ code, stderr }: Ended, line: RegExp, expectedCode = 1): void {
  assert.match(stderr, line);
  assert.match(stderr, /^plant-store: [^\n]+\n$/, 'one line');
  assert.equal(code, expectedCode);
}

/**
 * A database with the common plants and those at the ends of int64, and with a token that is
 * revoked and one that is not.
 */
async function makeFullDatabase(): Promise<string> {
  const store = await server.makeDatabase();
  await makeStore(store);
  succeeded(await runHere(['import', commonPlants, '--store', store]));
  for (const name of ['revoked', 'my-app'])
    succeeded(await runHere(['token', 'create', name, '--store', store]));
  succeeded(await runHere(['token', 'revoke', 'revoked', '--store', store]));
  await query(
    store,
    `INSERT INTO plants VALUES (-9223372036854775808, 'Ёлка "1"', '', 1, 1), (9223372036854775807, E'Yew\\n\\t', NULL, 2, 2), (-1, '', NULL, 3, 0)`,
  );
  return store;
}

/** Only read. Made before the first test starts: a database with a session cannot be copied. */
const full = await makeFullDatabase();
const backup = join(await temporaryFolder({ after }), 'backup.db');
succeeded(await runHere(['backup', backup, '--store', full]));

const newDatabase = () => server.makeDatabase(full);

const inJson = async (...args: string[]) =>
  JSON.parse(succeeded(await runHere([...args, '--json'])));

test('a backup of a database is a file like that of a file, and verify finds the same in both', async (t) => {
  const [store, folder] = [await newDatabase(), await temporaryFolder(t)];
  const path = join(folder, 'backup.db');

  const { code, stderr } = await runHere(['backup', path, '--store', store]);

  assert.equal(code, 0, stderr);
  const places = `It is ${path}, and its manifest ${path}.manifest.json.\n`;
  assert.match(stderr, /^The backup is sound: [1-9][\d,]* plants, \d\S* [KM]iB\. It is /);
  assert(stderr.endsWith(places), stderr);
  assert.deepEqual(readdirSync(folder).sort(), ['backup.db', 'backup.db.manifest.json']);
  assert.equal((statSync(path).mode & 0o777).toString(8), '600');
  using db = new DatabaseSync(path, { readOnly: true });
  assert.equal(db.prepare('PRAGMA journal_mode').get()?.['journal_mode'], 'delete');
  assert.deepEqual(
    db
      .prepare(
        'SELECT created_at, created_by FROM plants WHERE id IN (-1, (SELECT min(id) FROM plants), (SELECT max(id) FROM plants)) ORDER BY id',
      )
      .all()
      .map((row) => Object.values(row)),
    [
      [1, 1],
      [3, 0],
      [2, 2],
    ],
  );

  const { file: _, ...inFile } = await inJson('verify', path);
  const { file: name, ...inDatabase } = await inJson('verify', '--store', store);
  assert.equal(name, store);
  const { plants, largestId, digest } = inFile;
  assert.deepEqual(inDatabase, { schemaVersion: 7, plants, largestId, digest });
  assert.deepEqual([plants, largestId], [633, '9223372036854775807']);
  const [recorded] = await query(
    store,
    `SELECT file, plants, digest FROM backups WHERE file = '${path}'`,
  );
  assert.deepEqual(recorded, { file: path, plants: '633', digest });
});

test('verify compares each plant of a database with a backup, and names what differs', async () => {
  const store = await newDatabase();
  const against = () => runHere(['verify', '--against', backup, '--store', store, '--json']);
  const sound = await against();
  const { plants, changed, pages } = JSON.parse(succeeded(sound));
  assert.deepEqual([plants, changed, pages], [633, { count: 0, ids: [] }, undefined]);

  await query(store, 'UPDATE plants SET created_at = 4 WHERE id = -1');
  await query(store, 'UPDATE plants SET created_by = 1 WHERE id = 9223372036854775807');
  await query(store, 'DELETE FROM plants WHERE id = 1');
  const damaged = await against();
  failed(
    damaged,
    /of the 633 plants in \S+backup\.db, 2 changed \(-1, 9223372036854775807\), 1 missing \(1\); restore the backup into another database with "plant-store restore/,
  );
  const { missing } = JSON.parse(damaged.stdout);
  assert.deepEqual(missing, { count: 1, ids: ['1'] });
  failed(
    await runHere(['repair', '--from', backup, '--store', store]),
    /repair is for stores in SQLite; restore .* into another database/,
  );
});

test('in a folder, a backup of a database is named after it', async (t) => {
  const [store, folder] = [await server.makeDatabase(), await temporaryFolder(t)];
  await makeStore(store);
  succeeded(await runHere(['backup', folder, '--store', store]));
  const [backup = ''] = readdirSync(folder).sort();
  assert.match(backup, new RegExp(`^${nameOfDatabase(store)}-[0-9]{8}T[0-9]{6}Z\\.db$`));
  assert.equal((await inJson('verify', join(folder, backup)))['plants'], 0);
});

/** What there is of plants and tokens. */
async function contentOf(store: string) {
  return [
    await query(store, 'SELECT * FROM plants ORDER BY id'),
    await query(store, 'SELECT * FROM tokens ORDER BY id'),
  ];
}

test('a backup of a database can be restored into another one and into a file, and serves there', async (t) => {
  const [store, other, folder] = [
    await newDatabase(),
    await server.makeDatabase(),
    await temporaryFolder(t),
  ];
  const [backup, file] = [join(folder, 'backup.db'), join(folder, 'plants.db')];
  const made = await inJson('backup', backup, '--store', store);

  const { code, stdout, stderr } = await runHere(['restore', backup, '--store', other]);
  assert.equal(code, 0, stderr);
  const now = `The store at ${other} now holds the backup ${backup}.\n`;
  assert.equal(stderr, `There was no store at ${other}; a new store has been made.\n${now}`);
  assert.match(stdout, new RegExp(`^digest +${made['digest']}$`, 'm'));
  assert.deepEqual(await contentOf(other), await contentOf(store));

  succeeded(await runHere(['restore', backup, '--store', `sqlite:${file}`]));
  const { plantsUrl } = await startServer(t, file, oneThread);
  assert.equal((await create(plantsUrl, { id: 1, name: 'no such' })).status, 400);
  assert.equal((await create(plantsUrl, { id: -1, name: '' })).status, 200);
  assert.equal(storedPlants(file).length, 633);
});

test('a restore that was interrupted is completed by the next, and one into a database with other plants is refused', async () => {
  const other = await server.makeDatabase();
  const restore = (...flags: string[]) => runHere(['restore', backup, '--store', other, ...flags]);
  succeeded(await restore());
  await query(other, 'DELETE FROM plants WHERE id > 100');
  succeeded(await restore());
  assert.equal((await query(other, 'SELECT id FROM plants')).length, 633);

  await query(other, `INSERT INTO plants VALUES (-7, 'Mine', NULL, 0, 0)`);
  await query(other, 'DELETE FROM plants WHERE id = 100');
  failed(
    await restore(),
    /the store at postgres:.* holds other plants \(-7\), which are never overwritten; name another database/,
  );
  await query(other, 'DELETE FROM plants WHERE id = -7');
  await query(other, `UPDATE plants SET name = 'Mine' WHERE id IN (5, 6)`);
  failed(await restore(), /holds other plants \(5, 6\), /);
  failed(
    await restore('--overwrite'),
    /--overwrite is not possible on PostgreSQL, because .*; name another database/,
    2,
  );
  assert.equal((await query(other, 'SELECT id FROM plants')).length, 632);
});

test('what is no sound backup is not restored into a database', async (t) => {
  const [folder, other] = [await temporaryFolder(t), await server.makeDatabase()];
  const alone = join(folder, 'alone.db');
  copyFileSync(backup, alone);
  copyFileSync(`${backup}.manifest.json`, `${alone}.manifest.json`);
  new DatabaseSync(alone).exec('DELETE FROM plants WHERE id = 1');
  failed(
    await runHere(['restore', alone, '--store', other]),
    /differs from its manifest: plants 633 \(found 632\).*nothing has been restored/,
  );
  failed(
    await runHere(['restore', `${backup}.missing`, '--store', other]),
    /there is no file .* to restore/,
  );
  failed(await runHere(['verify', '--store', other]), /there is no store in postgres:/);
});

test('verify tells a database of which a page is damaged, and a backup of it is not made', async (t) => {
  const [store, folder] = [await newDatabase(), await temporaryFolder(t)];
  const [file] = await query(store, `SELECT pg_relation_filepath('plants') AS path`);
  await server.stop('fast');
  const pages = openSync(join(server.folder, `${file?.['path']}`), 'r+');
  writeSync(pages, Buffer.alloc(64, 0xff), 0, 64, 8_192);
  closeSync(pages);
  await server.start();

  failed(
    await runHere(['verify', '--store', store]),
    /the store at postgres:.* is damaged \(invalid page in block 1 .*\); restore it from a backup/,
  );
  failed(
    await runHere(['backup', join(folder, 'b.db'), '--store', store]),
    /invalid page in block 1/,
  );
  assert.deepEqual(readdirSync(folder), []);
});

test('a disk that becomes full during a backup of a database is an error, and nothing is left behind', async (t) => {
  const store = await newDatabase();
  const folder = mounted(t, 'tmpfs', () => 'size=65536');
  if (folder === undefined) return;
  failed(
    await runHere(['backup', join(folder, 'b.db'), '--store', store]),
    /cannot (copy|open) the store .*disk/,
  );
  assert.deepEqual(readdirSync(folder), []);
});

test('a backup of a database that is ended leaves nothing, or a folder that is not in the way when it is killed', async (t) => {
  const store = await newDatabase();
  await query(
    store,
    `INSERT INTO plants SELECT id, 'plant ' || id, NULL, 0, 0 FROM generate_series(1000, 100000) AS ids (id)`,
  );
  for (const signal of ['SIGINT', 'SIGKILL'] as const) {
    const folder = await temporaryFolder(t);
    const watcher = watch(folder);
    const child = startProgram(['backup', join(folder, 'b.db'), '--store', store]);
    const exit = once(child, 'exit');
    await once(watcher, 'change');
    watcher.close();
    child.kill(signal);
    assert.deepEqual(await exit, [null, signal]);
    const left = readdirSync(folder);
    assert.deepEqual(
      [left.length, left.every((name) => name.startsWith('b.db.unfinished-'))],
      [signal === 'SIGINT' ? 0 : 1, true],
    );
  }
});
