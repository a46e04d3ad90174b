import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { diagnose } from '../../helpers/diagnosis.ts';
import { withLimits } from '../../helpers/faults.ts';
import { until } from '../../helpers/pause.ts';
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

/* What an operator does to the table of plants. Of one batch: test/store/postgres/store-refused.test.ts. */

const server = await sharedPostgres({ after });

async function databaseWith(...changes: string[]): Promise<string> {
  const url = await server.makeDatabase();
  await makeStore(url);
  for (const change of changes) await server.query(change, url);
  return url;
}

const noBad = "ALTER TABLE plants ADD CONSTRAINT no_bad CHECK (name <> 'bad')";

const trigger = (body: string) => `CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN ${body} END $$;
  CREATE TRIGGER watch BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION watch()`;

/** With each, a 200 would mean another plant, or none. What ends it, as `serve` says. */
const faults: Record<string, [change: string, says: RegExp]> = {
  'changes plants': [
    trigger('NEW.name = upper(NEW.name); RETURN NEW;'),
    /changes the name of a plant; ALTER TABLE public.plants DISABLE TRIGGER watch/,
  ],
  'changes unusual plants only': [
    trigger('NEW.tag = trim(NEW.tag); RETURN NEW;'),
    /changes the tag of a plant; ALTER TABLE public.plants DISABLE TRIGGER watch/,
  ],
  'changes plants at the COMMIT': [
    `CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN UPDATE plants SET name = upper(name) WHERE id = NEW.id; RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER watch AFTER INSERT ON plants DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION watch()`,
    /changes the name of a plant; ALTER TABLE public.plants DISABLE TRIGGER watch/,
  ],
  'drops plants': [
    trigger('RETURN NULL;'),
    /a plant is dropped without an error; ALTER TABLE public.plants DISABLE TRIGGER watch/,
  ],
  'has a rule': [
    'CREATE RULE away AS ON INSERT TO plants DO INSTEAD NOTHING',
    /a plant is not stored \(.*\); ALTER TABLE public.plants DISABLE RULE away/,
  ],
  'hides plants': [
    `CREATE ROLE half LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO half;
      ALTER TABLE plants ENABLE ROW LEVEL SECURITY; CREATE POLICY positive ON plants USING (id > 0)`,
    /a plant is not stored \(.*row-level security.*\); ALTER TABLE public.plants DISABLE ROW LEVEL/,
  ],
};

for (const [what, [change, says]] of Object.entries(faults))
  test(`serve, import and copy do not begin on a database that ${what}, and doctor says the same`, {
    timeout: 30_000,
  }, async (t) => {
    const url = (await databaseWith(change)).replace(
      '//postgres',
      what === 'hides plants' ? '//half' : '//postgres',
    );
    const file = join(await temporaryFolder(t), 'plants.ndjson');
    writeFileSync(file, '{"id":1,"name":"Alder"}\n');
    const from = `sqlite:${await storePath(t)}`;
    makeFile(from.replace('sqlite:', ''));
    for (const args of [
      ['serve', '--port', '0', ...on(url)],
      ['import', file, ...on(url)],
      ['copy', from, url],
    ])
      failed(await runHere(args, { PLANT_STORE_TOKEN: 'x'.repeat(40) }), says);
    assert.match((await diagnose(url)).lines['test write'] ?? '', says);
    assert.deepEqual(await server.query('SELECT FROM plants', url), []);
  });

/** With each, a plant of some kind gets an error, and all others are stored. */
const edges: Record<string, [change: string, says: RegExp]> = {
  'an index that takes no long name': ['CREATE INDEX wide ON plants (name)', /with a name of 8000/],
  'an index of numbers in long tags': [
    'CREATE INDEX numbers ON plants (CAST(tag AS integer)) WHERE length(tag) > 9',
    /with a tag of 8000 characters, a plant is not stored \([^)]{200,210}\)/,
  ],
  'no partition for each id': [
    `DROP TABLE plants;
      CREATE TABLE plants (id bigint NOT NULL, name text NOT NULL, tag text,
        created_at bigint NOT NULL, created_by bigint NOT NULL, PRIMARY KEY (id))
        PARTITION BY RANGE (id);
      CREATE TABLE positive PARTITION OF plants FOR VALUES FROM (0) TO (9223372036854775807)`,
    /with the id -9223372036854775808, a plant is not stored \(no partition of relation/,
  ],
  'a trigger that refuses blanks with the code of a missing privilege': [
    trigger(
      "IF NEW.name LIKE ' %' THEN RAISE 'no blanks' USING ERRCODE = '42501'; END IF; RETURN NEW;",
    ),
    /with blanks and accents, a plant is not stored \(no blanks\)/,
  ],
  'a CHECK that takes no plain plant': [
    "ALTER TABLE plants ADD CHECK (tag = 'tree')",
    /a plant is not stored \(.*plants_tag_check/,
  ],
};

for (const [what, [change, says]] of Object.entries(edges))
  test(`serve begins on a database with ${what}, and warns`, async (t) => {
    const node = await startServer(t, await databaseWith(change), oneThread);
    assert.match(node.stderr(), new RegExp(`"level":"warn".*${says.source}`));
    const plant = { id: 1, name: 'Alder', tag: 'tree' };
    assert.equal((await create(node.plantsUrl, plant)).status, 200);
    assert.equal((await fetch(`${node.opsUrl}readyz`)).status, 200);
  });

test('a trigger that comes while the service runs ends the creates and the readiness until it is gone', {
  timeout: 60_000,
}, async (t) => {
  const url = await databaseWith();
  const often = withLimits({ postgres: { testWriteMs: 10 } });
  const { plantsUrl, opsUrl, logged } = await startServer(t, url, oneThread, often);
  const statusOf = async (path: string) => (await fetch(`${opsUrl}${path}`)).status;
  await server.query(trigger('NEW.name = upper(NEW.name); RETURN NEW;'), url);
  await until(
    () => statusOf('readyz'),
    (status) => status === 503,
  );
  const reply = await create(plantsUrl, { id: 1, name: 'Alder' });
  assert.equal(((await reply.json()) as { error: number }).error, 50301);
  await logged((log) => /50301: the database changes the name of a plant; ALTER TABLE/.test(log));
  await server.query('ALTER TABLE public.plants DISABLE TRIGGER watch', url);
  await until(
    () => statusOf('readyz'),
    (status) => status === 200,
  );
  assert.equal((await create(plantsUrl, { id: 1, name: 'Alder' })).status, 200);
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
