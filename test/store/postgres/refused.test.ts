import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { diagnose } from '../../helpers/diagnosis.ts';
import { sharedPostgres } from '../../helpers/postgres.ts';
import { makeStore } from '../../helpers/postgres-connection.ts';
import {
  create,
  oneThread,
  startServer,
  storePath,
  temporaryFolder,
} from '../../helpers/program.ts';
import { done, failed, on, runHere } from '../../helpers/run-here.ts';
import { alterStore, makeStore as makeFile } from '../../helpers/store-file.ts';

/* What an operator does to the table of plants. All kinds of it: store-refused.test.ts. */

const server = await sharedPostgres({ after });

async function databaseWith(...changes: string[]): Promise<string> {
  const url = await server.makeDatabase();
  await makeStore(url);
  for (const change of changes) await server.query(change, url);
  return url;
}

const noBad = "ALTER TABLE plants ADD CONSTRAINT no_bad CHECK (name <> 'bad')";

const uppercase = `CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN NEW.name = upper(NEW.name); RETURN NEW; END $$;
  CREATE TRIGGER watch BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION watch()`;

test('serve, import and copy do not begin on a database that changes plants, and doctor says the same', async (t) => {
  const url = await databaseWith(uppercase);
  const file = join(await temporaryFolder(t), 'plants.ndjson');
  writeFileSync(file, '{"id":1,"name":"Alder"}\n');
  const from = await storePath(t);
  makeFile(from);
  const says = /changes the name of a plant; ALTER TABLE public.plants DISABLE TRIGGER watch/;
  for (const args of [
    ['serve', '--port', '0', ...on(url)],
    ['import', file, ...on(url)],
    ['copy', ...on(from).slice(1), url],
  ])
    failed(await runHere(args, { PLANT_STORE_TOKEN: 'x'.repeat(40) }), says);
  assert.match((await diagnose(url)).lines['test write'] ?? '', says);
  assert.deepEqual(await server.query('SELECT FROM plants', url), []);
});

test('serve warns of a plant that the database refuses, and creates all others', async (t) => {
  const url = await databaseWith("ALTER TABLE plants ADD CHECK (tag = 'tree')");
  const { plantsUrl, stderr } = await startServer(t, url, oneThread);
  assert.match(stderr(), /"level":"warn".*a plant is not stored \(.*plants_tag_check/);
  assert.equal((await create(plantsUrl, { id: 1, name: 'Alder', tag: 'tree' })).status, 200);
});

test('import writes a plant that the database refuses to the refused lines, and stores all others', async (t) => {
  const url = await databaseWith(noBad);
  const file = join(await temporaryFolder(t), 'plants.ndjson');
  const lines = Array.from(
    { length: 3_000 },
    (_, id) => `{"id":${id},"name":"${id % 50 === 0 ? 'bad' : 'Alder'}"}\n`,
  );
  writeFileSync(file, lines.join(''));
  const { code, stdout, stderr } = await runHere(['import', file, '--json', ...on(url)]);
  assert.equal(code, 1);
  const counts = JSON.parse(stdout);
  assert.deepEqual([counts.created, counts.refusedByCode], [2_940, { 40007: 60 }], stderr);
  const refused = readFileSync(`${file}.refused.ndjson`, 'utf8').trim().split('\n');
  assert.equal(refused.length, 60);
  const { error, text } = JSON.parse(refused[1] ?? '');
  assert.deepEqual([error, text], [40007, '{"id":50,"name":"bad"}']);
});

test('copy stops at a plant that the target refuses, and names the plant', async (t) => {
  const url = await databaseWith(noBad);
  const path = await storePath(t);
  makeFile(path);
  alterStore(path, "INSERT INTO plants VALUES (1, 'Alder', NULL, 0, 0), (2, 'bad', NULL, 0, 0)");
  const says = /the target refuses the plant 2: .*"no_bad"/;
  failed(await runHere(['copy', `sqlite:${path}`, url]), says);
  await server.query('ALTER TABLE plants DROP CONSTRAINT no_bad', url);
  await done('copy', `sqlite:${path}`, url);
});
