import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { postgresEngine } from '../../src/store/engines.ts';
import { assertSound, diagnose } from '../helpers/diagnosis.ts';
import { signIn } from '../helpers/operators.ts';
import { connectionsMax, nameOfDatabase, sharedPostgres } from '../helpers/postgres.ts';
import { locationOf, makeStore } from '../helpers/postgres-connection.ts';
import { create, oneThread, startServer } from '../helpers/program.ts';
import { done, on } from '../helpers/run-here.ts';

const server = await sharedPostgres({ after });

/** A new database whose owner is a role of its own, without further rights. */
async function databaseOf(role: string): Promise<string> {
  const url = await server.makeDatabase();
  await server.query(`CREATE ROLE ${role} LOGIN`);
  await server.query(`ALTER DATABASE ${nameOfDatabase(url)} OWNER TO ${role}`);
  return url.replace('//postgres@', `//${role}@`);
}

test('doctor reads back what is in force in a database while a service runs on it', async (t) => {
  const url = await databaseOf('gardener');
  const { plantsUrl } = await startServer(t, url, oneThread);
  for (const id of [-3, 8])
    assert.equal((await create(plantsUrl, { id, name: 'Alder' })).status, 200);

  const found = await diagnose(url);

  assertSound(found);
  for (const [check, says] of Object.entries({
    connection:
      /^ok to PostgreSQL \d+\.\d+ at 127\.0\.0\.1:\d+ in \d+\.\d ms; a round trip takes \d+\.\d\d ms$/,
    encryption: /^ok none; the server is on this machine$/,
    durability:
      /^ok each plant is on the disk of the server before it is acknowledged; a standby that takes over may lack the last ones$/,
    connections: new RegExp(
      `^ok \\d+ of ${connectionsMax - 3} are open; a node on a machine like this opens up to \\d+$`,
    ),
    role: /^ok gardener has the privileges that the service needs$/,
    schema: /^ok a plant store with the identity [0-9a-f]{32}, schema 11$/,
    'test write': /^ok plants come back as they were sent, and were rolled back$/,
  }))
    assert.match(found.lines[check] ?? '', says);
  const left = await server.query('SELECT count(*)::int AS plants FROM plants', url);
  assert.deepEqual(left, [{ plants: 2 }]);
});

test('doctor says which privilege a role lacks, and that a superuser is too much', async (t) => {
  const url = await databaseOf('owner');
  await makeStore(url);
  await server.query('CREATE ROLE helper LOGIN');
  const asHelper = url.replace('//owner', '//helper');
  const change = (text: string) => server.query(text, url);

  const { code, lines } = await diagnose(asHelper);
  assert.equal(code, 1);
  const [, grants = ''] =
    /^error helper lacks privileges that the service needs; (GRANT .*)$/.exec(`${lines['role']}`) ??
    assert.fail(lines['role']);
  assert.match(grants, /GRANT SELECT, UPDATE ON public.plant_store TO helper(;|$)/);
  await change(grants);
  const granted = (await diagnose(asHelper)).lines;
  assert.equal(granted['role'], 'ok helper has the privileges that the service needs');
  const node = await startServer(t, asHelper, oneThread);
  assert.equal((await create(node.plantsUrl, { id: 1, name: 'Alder' })).status, 200);
  const made = await done('token', 'create', 'alice', '--role', 'operate', ...on(asHelper));
  await signIn(node, { token: made.stdout.trim() });
  await done('token', 'revoke', 'alice', ...on(asHelper));

  await server.query('CREATE ROLE node LOGIN');
  const page = sourceOf('../../docs/operate/postgres.md');
  await change(/(?<=```sql\n)GRANT[^`]*/.exec(page)?.[0] ?? assert.fail('no grants on the page'));
  const asNode = (await diagnose(url.replace('//owner', '//node'))).lines;
  assert.match(`${asNode['role']} ${asNode['test write']}`, /^ok .* ok /);

  const asSuperuser = (await diagnose(url.replace('//owner', '//postgres'))).lines;
  assert.match(`${asSuperuser['role']}`, /^warning postgres is a superuser/);
});

test('doctor counts the connections that a role may have', async () => {
  const url = await databaseOf('few');
  await server.query('ALTER ROLE few CONNECTION LIMIT 1');
  assert.match(
    (await diagnose(url)).lines['connections'] ?? '',
    /^error 1 of 1 are open; .*, and needs 2; raise .* or CONNECTION LIMIT of the role/,
  );
  await server.query('ALTER ROLE few CONNECTION LIMIT 3');
  assert.match(
    (await diagnose(url)).lines['connections'] ?? '',
    /^warning 1 of 3 are open; .* which is more than are left/,
  );
});

/** What another than this program does to the table of plants, and what doctor says to paste. */
const onPlants: Record<string, [change: string, says: RegExp]> = {
  'a trigger that refuses a plant at the commit': [
    `CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
     CREATE CONSTRAINT TRIGGER no AFTER INSERT ON plants DEFERRABLE INITIALLY DEFERRED
       FOR EACH ROW EXECUTE FUNCTION no()`,
    /^error a plant is not stored \(no\); ALTER TABLE public.plants DISABLE TRIGGER no/,
  ],
  'a policy': [
    `ALTER TABLE plants ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY`,
    /^error a plant is not stored \(.* row-level security .*\); ALTER TABLE public.plants DISABLE ROW LEVEL SECURITY$/,
  ],
};

test('doctor finds what refuses a plant, and what it says to paste ends this', async () => {
  const url = await databaseOf('tidy');
  await makeStore(url);
  for (const [change, says] of Object.values(onPlants)) {
    await server.query(change, url);
    const { code, lines } = await diagnose(url);
    assert.equal(code, 1);
    assert.match(lines['test write'] ?? '', says);
    const [remedy = ''] = /ALTER TABLE .*/.exec(lines['test write'] ?? '') ?? [];
    await server.query(remedy, url);
    assert.match((await diagnose(url)).lines['test write'] ?? '', /^ok /);
  }
});

test('doctor and serve end with the statement for a schema that is missing or closed', async () => {
  const url = await server.makeDatabase();
  await server.query('CREATE ROLE "Guest" LOGIN');
  const asGuest = `${url.replace('//postgres', '//Guest')}?options=-csearch_path%3Dgarden`;
  for (const says of [
    /the database has no schema of the search path; (CREATE SCHEMA garden AUTHORIZATION "Guest"), or name/,
    /the role "Guest" may not look into the schema garden, .*; (GRANT USAGE ON SCHEMA garden TO "Guest"), or/,
    /there is no store yet, and the role "Guest" may not make one; (GRANT CREATE ON SCHEMA garden TO "Guest"), or/,
  ]) {
    const found =
      says.exec((await diagnose(asGuest)).lines['schema'] ?? '') ?? assert.fail(`${says}`);
    await assert.rejects(makeStore(asGuest), says);
    const [, remedy = ''] = found;
    await server.query(remedy.replace('AUTHORIZATION "Guest"', ''), url);
  }
  await makeStore(asGuest);
});

const sourceOf = (file: string) => readFileSync(join(import.meta.dirname, file), 'utf8');
const mayMake = 'GRANT ALL ON SCHEMA public TO guest';
const ofOne = `${sourceOf('../data/store-1.1.0.sql')}; ${mayMake};
  GRANT ALL ON ALL TABLES IN SCHEMA public TO guest`;
const noChanges = `CREATE FUNCTION no() RETURNS event_trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE 'no changes'; END $$;
  CREATE EVENT TRIGGER never ON ddl_command_start EXECUTE FUNCTION no()`;
const toGuest = ['plant_store', 'plants', 'tokens']
  .map((table) => `ALTER TABLE public.${table} OWNER TO guest`)
  .join('; ');

/**
 * What keeps the role `guest` from a store in the database THIS, and what is said of that, with the
 * statement that ends it.
 */
const deadEnds: Record<string, [change: string, says: RegExp, parameters?: string]> = {
  'a schema whose capital letters the server does not read': [
    'CREATE SCHEMA "Garden"; GRANT ALL ON SCHEMA "Garden" TO guest',
    /no schema of the search path; (CREATE SCHEMA garden AUTHORIZATION guest), or/,
    '?options=-csearch_path%3DGarden',
  ],
  'no schema at all': [
    mayMake,
    /the search path names no schema; name a schema with \?options=-csearch_path%3DSCHEMA/,
    "?options=-csearch_path%3D''",
  ],
  'a table of another role': [
    `${mayMake}; CREATE TABLE plants (id bigint NOT NULL, name text NOT NULL, tag text,
       created_at bigint NOT NULL, created_by bigint NOT NULL, PRIMARY KEY (id));
     GRANT ALL ON plants TO guest`,
    /cannot be made \(must be owner of table plants\); (ALTER TABLE public.plants OWNER TO guest)/,
  ],
  'a store of 1.1.0 of another role': [
    ofOne,
    new RegExp(
      `\\(must be owner of table tokens\\); run "plant-store upgrade" .*, or (${toGuest})`,
    ),
  ],
  'an event trigger before the first start': [
    `${mayMake}; ${noChanges}`,
    /cannot be made \(no changes\); (ALTER EVENT TRIGGER never DISABLE)/,
  ],
  'an event trigger before an upgrade': [
    `${ofOne}; ${toGuest}; ${noChanges}`,
    /cannot be changed \(no changes\); (ALTER EVENT TRIGGER never DISABLE)/,
  ],
  'a database that is read-only': [
    `${mayMake}; ALTER DATABASE "THIS" SET default_transaction_read_only = on`,
    /is read-only; (BEGIN .* IN DATABASE "\w+" SET default_transaction_read_only = off; COMMIT)/,
  ],
  'no database': [
    '',
    /does not exist; (CREATE DATABASE "My \w+" OWNER "guest" ENCODING 'UTF8' TEMPLATE template0)/,
    '?dbname=My%20THIS',
  ],
  'a time for statements that is too short for any': [
    `${mayMake}; ALTER ROLE guest SET statement_timeout = 1`,
    /canceling statement .*; (BEGIN .* IN DATABASE "\w+" SET statement_timeout = 0; COMMIT)/,
  ],
};

test('doctor and serve end with the same statement where a role comes to no store, and the statement helps', async (t) => {
  const { connection = '' } = (await diagnose('postgres://guest@127.0.0.1:1/plants')).lines;
  assert.match(connection, /ECONNREFUSED.*; check whether the server runs, and check --store and/);
  await server.query('CREATE ROLE guest LOGIN');
  for (const [what, [change, says, parameters = '']] of Object.entries(deadEnds)) {
    await t.test(what, async () => {
      const url = await server.makeDatabase();
      const here = (text: string) => text.replaceAll('THIS', nameOfDatabase(url));
      await server.query(here(change), url);
      const asGuest = `${url.replace('//postgres', '//guest')}${here(parameters)}`;

      const { code, lines } = await diagnose(asGuest);
      assert.equal(code, 1);
      const line = lines['schema'] ?? lines['connection'] ?? '';
      assert.match(line, says);
      assert.doesNotMatch(line, /server runs/);
      await assert.rejects(upgradeOrMake(asGuest), says);
      const [, remedy] = says.exec(line) ?? [];
      if (remedy === undefined) return;
      await server.query(remedy, url);
      await upgradeOrMake(asGuest);
    });
  }
});

/** As a start does. */
async function upgradeOrMake(url: string): Promise<void> {
  const { outdatedSchema, upgrade } = postgresEngine(locationOf(url));
  if ((await outdatedSchema()) !== undefined) await upgrade(() => undefined);
  await makeStore(url);
}
