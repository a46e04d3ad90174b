import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { nameOfDatabase, sharedPostgres } from '../../helpers/postgres.ts';
import { makeStore } from '../../helpers/postgres-connection.ts';
import { create, oneThread, startServer, temporaryFolder } from '../../helpers/program.ts';
import { done, doneJson, doneRecords, on } from '../../helpers/run-here.ts';

const commonPlants = fileURLToPath(new URL('../../data/common-plants.ndjson', import.meta.url));

const server = await sharedPostgres({ after });

const columns = 'id bigint, name text NOT NULL, tag text, created_at bigint NOT NULL';
const whole = `${columns}, created_by bigint NOT NULL`;

const tablesOfOthers: Record<string, [table: string, says: RegExp]> = {
  'without a primary key': [
    `${whole.replace('bigint', 'bigint NOT NULL')}`,
    /it lacks PRIMARY KEY \(id\)/,
  ],
  'with a further column that needs a value': [
    `${whole}, PRIMARY KEY (id), colour text NOT NULL`,
    /it has colour text NOT NULL/,
  ],
  'with a column of another type': [
    `${whole.replace('tag text', 'tag varchar(20)')}, PRIMARY KEY (id)`,
    /it lacks tag text, and it has tag character varying\(20\)/,
  ],
  'without a column': [`${columns}, PRIMARY KEY (id)`, /it lacks created_by bigint NOT NULL/],
  'that makes the ids itself': [
    `${whole.replace('bigint', 'bigint GENERATED ALWAYS AS IDENTITY')}, PRIMARY KEY (id)`,
    /it has id bigint GENERATED ALWAYS NOT NULL/,
  ],
  'that has each name once': [
    `${whole}, PRIMARY KEY (id), UNIQUE (name)`,
    /it has a unique index \(name\)/,
  ],
};

test('a table plants of somebody else is refused, and the difference is named', async () => {
  const url = await server.makeDatabase();
  for (const [definition, says] of Object.values(tablesOfOthers)) {
    await server.query(
      `DROP TABLE IF EXISTS plants; CREATE TABLE plants (${definition})`,
      nameOfDatabase(url),
    );
    await assert.rejects(makeStore(url), says);
    assert.deepEqual(
      await server.query("SELECT to_regclass('tokens') AS tokens", nameOfDatabase(url)),
      [{ tokens: null }],
    );
  }
});

test('tables that an operator has made for the store are taken, with columns that need no value', async () => {
  const url = await server.makeDatabase();
  const table = `CREATE TABLE plants (${whole}, PRIMARY KEY (id), note text, seen timestamptz NOT NULL DEFAULT now())`;
  await server.query(table, nameOfDatabase(url));
  await server.query(`ALTER DATABASE ${nameOfDatabase(url)} SET quote_all_identifiers = on`);
  await makeStore(url);
  await makeStore(url);
});

/** An empty table of plants with these partitions. */
async function partitioned(method: string, ...parts: readonly string[]): Promise<string> {
  const url = await server.makeDatabase();
  const made = `CREATE TABLE plants (${whole}, PRIMARY KEY (id)) PARTITION BY ${method} (id)`;
  const tables = parts.map((part, at) => `CREATE TABLE plants_${at} PARTITION OF plants ${part}`);
  await server.query([made, ...tables].join(';'), nameOfDatabase(url));
  return url;
}

test('a table of plants with partitions serves, is counted, listed, measured, backed up and copied', async (t) => {
  await makeStore(await partitioned('RANGE', 'FOR VALUES FROM (MINVALUE) TO (50)', 'DEFAULT'));
  const half = (rest: number) => `FOR VALUES WITH (MODULUS 2, REMAINDER ${rest})`;
  const url = await partitioned('HASH', half(0), half(1));
  const { plantsUrl, opsUrl } = await startServer(t, url, oneThread);
  await done('import', commonPlants, ...on(url));
  const status = async (plant: object) => (await create(plantsUrl, plant)).status;
  const oak = { id: -1, name: 'Oak' };
  const replies = [await status(oak), await status(oak), await status({ ...oak, tag: 'Quercus' })];
  assert.deepEqual(replies, [200, 200, 400]);

  const newest = await doneRecords('plants', 'list', '--newest', '--limit', '1', ...on(url));
  assert.equal(newest[0]?.id, -1);
  const ids = (await doneRecords('plants', 'list', '--limit', 'none', ...on(url))).map(
    ({ id }) => id,
  );
  assert.deepEqual(ids, [-1, ...Array.from({ length: 100 }, (_, index) => index + 1)]);
  assert.deepEqual(await doneJson('plants', 'count', '--name-contains', 'ALDER', ...on(url)), {
    plants: 8,
  });
  const metrics = await (await fetch(`${opsUrl}metrics`)).text();
  assert(Number(/^plant_store_database_bytes (.*)$/m.exec(metrics)?.[1]) > 65_536, metrics);

  const folder = await temporaryFolder(t);
  await done('backup', join(folder, 'backup.db'), ...on(url));
  const other = `sqlite:${join(folder, 'plants.db')}`;
  assert.equal((await doneJson('copy', url, other)).created, 101);
  assert.equal((await doneJson('copy', other, url)).same, 101);
  await done('doctor', ...on(url));
});

const changes: Record<string, [statement: string, says: RegExp, undo: string]> = {
  'by a table without a column': [
    'ALTER TABLE sessions RENAME hash TO digest',
    /sessions .*it lacks hash bytea/,
    'ALTER TABLE sessions RENAME digest TO hash',
  ],
  'by another column': [
    'ALTER TABLE tokens ADD COLUMN owner text NOT NULL',
    /tokens .*it has owner/,
    'ALTER TABLE tokens DROP COLUMN owner',
  ],
  'by a table in a schema that comes first': [
    'CREATE SCHEMA postgres; CREATE TABLE postgres.plants (LIKE plants INCLUDING ALL)',
    /plants .*it has a namesake in a schema that comes first/,
    'DROP SCHEMA postgres CASCADE',
  ],
  'by a table that inherits from it': [
    'CREATE TABLE trees () INHERITS (plants)',
    /plants .*it has the rows of another table, until ALTER TABLE public.trees NO INHERIT public.plants\)/,
    'DROP TABLE trees',
  ],
};

test('a store whose tables were changed is refused, and the difference is named', async () => {
  const url = await server.makeDatabase();
  for (const [statement, says, undo] of Object.values(changes)) {
    await makeStore(url);
    await server.query(statement, nameOfDatabase(url));
    await assert.rejects(makeStore(url), says);
    await server.query(undo, nameOfDatabase(url));
  }
});
