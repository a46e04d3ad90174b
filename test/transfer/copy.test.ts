import assert from 'node:assert/strict';
import { copyFileSync, existsSync } from 'node:fs';
import { after, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { limits } from '../../src/limits.ts';
import { sharedPostgres } from '../helpers/postgres.ts';
import { done, doneJson, failed, refused, runHere } from '../helpers/run-here.ts';
import { addPlants, alterStore, makeStore } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';
import { argsOf, assertSameContent, copied, databaseOn, fileOf, newFile } from './copies.ts';

const { emptyDatabase, inDatabase, countOf } = await databaseOn(await sharedPostgres({ after }));

const commonPlants = fileURLToPath(new URL('../data/common-plants.ndjson', import.meta.url));
/**
 * Plants by three tokens, one of them revoked, by import and by the token of the environment; some
 * of them are hard to keep.
 */
async function makeVariedStore(): Promise<string> {
  const store = await newFile({ after });
  makeStore(fileOf(store));
  await done('import', commonPlants, '--store', store);
  alterStore(
    fileOf(store),
    `INSERT INTO plants VALUES
      (-9223372036854775808, 'Yew', 'Taxus', 1, 1), (9223372036854775807, 'O''Hara', NULL, 2, 2), (-9007199254740993, '', '', 3, 3),
      (-1, ' a,b;"c"\\' || char(8, 9, 10, 11, 12, 13, 1, 127), 'NULL', 4, 0), (-2, '{"🌱", NULL}', '\\N', 5, 2), (-3, 'e' || char(769), '{}', 0, -1);
    INSERT INTO tokens (id, name, hash, role, created_at, expires_at, revoked_at, last_used_at, rate_per_day, burst, made_by, revoked_by) VALUES
      (1, 'revoked', randomblob(32), 'create', 1, 9e12, 5, NULL, NULL, NULL, 'anna', 'command line (eve)'),
      (2, 'greenhouse', randomblob(32), 'create', 2, 9e12, NULL, 77, 86400, 5, 'first start', NULL),
      (3, 'nightly', randomblob(32), 'create', 3, 9e12, NULL, NULL, NULL, NULL, NULL, NULL)`,
  );
  return store;
}

const varied = await makeVariedStore();

async function variedStore(t: TestContext): Promise<string> {
  const store = await newFile(t);
  copyFileSync(fileOf(varied), fileOf(store));
  return store;
}

test('a store goes to PostgreSQL and back with every id, name, tag, time and token as it was', async (t) => {
  const [source, database, back] = [await variedStore(t), await emptyDatabase(), await newFile(t)];
  const { stdout, stderr } = await done(...argsOf(source, database));
  assert.equal(stdout, '');
  assert.match(stderr, /^There was no store at postgres:.*; a new store has been made\.$/m);
  const [, digest] = /hold 106 plants, with the digest ([0-9a-f]{64})\.\n$/.exec(stderr) ?? [];
  const figures = { plants: 106, largestId: '9223372036854775807', digest };
  assert.deepEqual(await copied(database, back), {
    ...{
      from: database,
      to: back,
      known: 0,
      created: 106,
      same: 0,
      taken: 0,
      onlyInTarget: 0,
      tokens: 3,
    },
    ...{ source: figures, target: figures },
  });
  assertSameContent(back, source);
});

test('a copy that is run again writes nothing, and carries what has happened to tokens', async (t) => {
  const [source, database] = [await variedStore(t), await emptyDatabase()];
  await copied(source, database);
  const rows = () => inDatabase('SELECT xmin::text, * FROM plants ORDER BY id');
  const before = await rows();
  await done('token', 'revoke', 'greenhouse', '--store', source);
  await done('token', 'revoke', 'nightly', '--store', database);
  const { created, same, tokens } = await copied(source, database);
  assert.deepEqual([created, same, tokens], [0, 106, 3]);
  assert.deepEqual(await rows(), before);
  const { stdout } = await done('token', 'list', '--json', '--store', database);
  assert.equal(stdout.match(/"state":"revoked"/g)?.length, 3);
});

test('a further copy compares only plants from shortly before the newest, unless sums tell that older ones differ', async (t) => {
  const [source, database, back] = [await newFile(t), await emptyDatabase(), await newFile(t)];
  makeStore(fileOf(source), 50);
  t.mock.property(limits.transfer as { copyKnownMin: number }, 'copyKnownMin', 50);
  const pass = async (from: string, to: string) => {
    const { known, created, same } = await doneJson(...argsOf(from, to));
    return { known, created, same };
  };
  const create = (id: number, atMs: number) =>
    alterStore(fileOf(source), `INSERT INTO plants VALUES (${id}, 'Alder', NULL, ${atMs}, 0)`);
  const nowMs = Date.now();
  create(51, nowMs);
  for (const [from, to] of [
    [source, database],
    [database, back],
  ] as const)
    assert.deepEqual(await pass(from, to), { known: 0, created: 51, same: 0 });
  create(-1, nowMs - 60_000);
  create(52, nowMs + 400 * 24 * 3_600_000);
  for (const [from, to] of [
    [source, database],
    [database, back],
  ] as const)
    assert.deepEqual(await pass(from, to), { known: 50, created: 2, same: 1 });

  create(53, 2_000);
  assert.deepEqual(await pass(source, database), { known: 0, created: 1, same: 53 });
  await inDatabase('DELETE FROM plants WHERE id = 7');
  assert.deepEqual(await pass(source, database), { known: 0, created: 1, same: 53 });
  await inDatabase('UPDATE plants SET created_at = 999 WHERE id = 8');
  assert.deepEqual(await pass(source, database), { known: 0, created: 0, same: 54 });
});

test('a copy names nobody as the creator of a plant whose subject was forgotten', async (t) => {
  const [source, target] = [await variedStore(t), await newFile(t)];
  alterStore(fileOf(source), "INSERT INTO plants VALUES (-77, 'Alder', NULL, 1, 99)");
  await copied(source, target);
  for (const store of [source, target]) {
    const { stdout } = await done('plants', 'get', '--json', '--store', store, '--', '-77');
    assert.match(stdout, /"name":"Alder".*"createdBy":"forgotten subject"/);
  }
});

test('what the target has under the same ids is not overwritten, what only it has is told, and all else is copied', async (t) => {
  const [source, database] = [await variedStore(t), await emptyDatabase()];
  await copied(source, database);
  await inDatabase(
    `UPDATE plants SET name = 'Other' WHERE id IN (-1, 5); UPDATE plants SET tag = NULL WHERE id = -9007199254740993;
     DELETE FROM plants WHERE id = 7; INSERT INTO plants VALUES (-77, 'Mine', NULL, 0, 0), (9223372036854775806, 'Mine', NULL, 0, 0)`,
  );
  const { code, stdout, stderr } = await runHere(argsOf(source, database, '--json'));
  const { created, same, taken, onlyInTarget } = JSON.parse(stdout);
  assert.deepEqual([code, created, same, taken, onlyInTarget], [1, 1, 102, 3, 2]);
  assert.match(
    stderr,
    /3 ids belong to different plants in the target \(-9007199254740993, -1, 5\), which were not changed, and the target alone has 2 plants \(-77, 9223372036854775806\)\n$/,
  );
  const [other] = await inDatabase('SELECT name FROM plants WHERE id = 5');
  assert.equal(other?.['name'], 'Other');
});

test('a target that gains a plant behind the copy is found to be another when it is read back', async (t) => {
  const [source, database] = [await newFile(t), await emptyDatabase()];
  makeStore(fileOf(source));
  await copied(source, database);
  addPlants(fileOf(source), 3);
  await inDatabase(
    `CREATE FUNCTION disturb() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       INSERT INTO plants VALUES (-9223372036854775808, 'Mine', NULL, 0, 0) ON CONFLICT DO NOTHING; RETURN NULL; END $$;
     CREATE TRIGGER disturbing AFTER INSERT ON plants WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION disturb()`,
  );
  const { code, stderr } = await runHere(argsOf(source, database));
  assert.match(stderr, /the target has changed during the copy: it holds 4 plants with the digest/);
  assert.equal(code, 1);
});

test('a name that two tokens have stops a copy before anything is written, and the way out that it tells is one', async (t) => {
  const [source, database] = [await variedStore(t), await emptyDatabase()];
  await storedToken(database, 'nightly');
  const { code, stderr } = await runHere(argsOf(source, database));
  const [, wayOut = ''] =
    /different tokens with the name nightly; .*"plant-store (.*)"\n$/.exec(stderr) ?? [];
  assert.deepEqual([code, await countOf(database)], [1, 0]);
  await done(...wayOut.split(' '));
  assert.equal((await copied(source, database)).created, 106);
});

test('a copy needs two stores, the first of which is there', async (t) => {
  const [file, database] = [await newFile(t), await emptyDatabase()];
  await refused(/there is no store at /, ...argsOf(file, database));
  await refused(/there is no store in postgres:/, ...argsOf(database, file));
  assert.equal(existsSync(fileOf(file)), false);
  for (const [args, says] of [
    [argsOf(database, database), /FROM and TO are the same store/],
    [argsOf(file, file.replace('/plants.db', '/./plants.db')), /are the same store/],
    [['copy', file], /TO/],
    [['copy', file, 'plants.db'], /: TO must be sqlite:PATH/],
  ] as const)
    failed(await runHere(args), says, 2);
});
