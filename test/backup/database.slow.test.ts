import assert from 'node:assert/strict';
import { closeSync, openSync, readdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { newStore } from '../helpers/backups.ts';
import { nameOfDatabase, startPostgres } from '../helpers/postgres.ts';
import { makeStore } from '../helpers/postgres-connection.ts';
import { temporaryFolder } from '../helpers/program.ts';
import { done, doneJson, on, refused, runHere } from '../helpers/run-here.ts';

const server = await startPostgres({ after });
const query = (store: string, sql: string) => server.query(sql, nameOfDatabase(store));

test('verify tells a database of which a page is damaged, and a backup of it is not made', async (t) => {
  const [store, folder] = [await server.makeDatabase(), await temporaryFolder(t)];
  await makeStore(store);
  await query(
    store,
    `INSERT INTO plants SELECT id, 'plant ' || id, NULL, 0, 0 FROM generate_series(1, 1000) AS ids (id)`,
  );

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
