import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { nameOfDatabase, startPostgres } from '../helpers/postgres.ts';
import { create, oneThread, startServer, temporaryFolder } from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';

const server = await startPostgres({ after });

/** A new database in which a commit is not waited for. */
async function forgetfulDatabase(): Promise<string> {
  const url = await server.makeDatabase();
  await server.query(`ALTER DATABASE ${nameOfDatabase(url)} SET synchronous_commit = off`);
  return url;
}

test('the service says at its start what a 200 means on its database', async (t) => {
  const { child, stderr, stdout } = await startServer(t, await server.makeDatabase(), [
    ...oneThread,
    '--log-format',
    'text',
  ]);
  assert.match(
    stderr(),
    /a 200 means: each plant is on the disk of the server before it is acknowledged;/,
  );
  // The welcome comes after the line that says that it is ready.
  while (!stdout().includes('curl') && child.stdout) await once(child.stdout, 'data');
  assert.match(
    stdout(),
    /^ {2}a 200 {4}each plant is on the disk of the server before it is acknowledged;/m,
  );
});

test('a database that may lose what it has committed is refused, and nothing is made in it', async (t) => {
  const url = await forgetfulDatabase();
  const file = join(await temporaryFolder(t), 'plants.ndjson');
  writeFileSync(file, '{"id":1,"name":"Alder"}\n');
  for (const args of [
    ['serve', '--port', '0'],
    ['import', file],
  ]) {
    const { code, stderr } = await runHere([...args, '--store', url], {
      PLANT_STORE_TOKEN: 'x'.repeat(40),
    });
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^plant-store: .*with synchronous_commit=off, a crash takes .*; set it to on .*, or accept that with --accept-lost-commits\n$/,
    );
  }
  assert.deepEqual(
    await server.query(
      'SELECT * FROM pg_tables WHERE schemaname = current_schema()',
      nameOfDatabase(url),
    ),
    [],
  );
});

test('a database that may lose what it has committed is used by who accepts that, and the service warns of it', async (t) => {
  const { plantsUrl, stderr } = await startServer(t, await forgetfulDatabase(), [
    ...oneThread,
    '--accept-lost-commits',
  ]);
  assert.match(
    stderr(),
    /"warn".*"a 200 means: with synchronous_commit=off, a crash takes the plants/,
  );
  assert.equal((await create(plantsUrl, { id: 1, name: 'Alder' })).status, 200);
});

test('a running service takes no plants over a later connection on which they may be lost, and does again when that is mended', {
  timeout: 120_000,
}, async (t) => {
  const url = await server.makeDatabase();
  const { plantsUrl, logged } = await startServer(t, url);
  assert.equal((await create(plantsUrl, { id: 1, name: 'Alder' })).status, 200);

  await server.query(`ALTER DATABASE ${nameOfDatabase(url)} SET synchronous_commit = off`);
  await server.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${nameOfDatabase(url)}'`,
  );
  assert.equal(await statusOtherThan(200, plantsUrl), 503);
  await logged((stderr) => stderr.includes('a crash takes the plants'));
  await server.query(`ALTER DATABASE ${nameOfDatabase(url)} RESET synchronous_commit`);
  assert.equal(await statusOtherThan(503, plantsUrl), 200);
});

test('a create over a session that a pooler has lent to another client gets 503, and the log says what to change', async (t) => {
  const url = await server.makeDatabase();
  const { plantsUrl, logged } = await startServer(t, url, oneThread);
  // What PgBouncer does between two transactions, when it pools those and not sessions.
  const forget = `CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'DEALLOCATE ALL'; RETURN NULL; END $$`;
  await server.query(
    `${forget}; CREATE TRIGGER forget AFTER INSERT ON plants EXECUTE FUNCTION forget()`,
    nameOfDatabase(url),
  );
  assert.equal((await create(plantsUrl, { id: 1, name: 'Alder' })).status, 200);

  const reply = await create(plantsUrl, { id: 2, name: 'Birch' });

  assert.deepEqual([reply.status, ((await reply.json()) as { error: number }).error], [503, 50301]);
  await logged((stderr) =>
    stderr.includes(
      'such as PgBouncer, shares sessions between clients; set its pool mode to session',
    ),
  );
});

/** Of the first create that is answered otherwise; each is of a plant of its own. */
async function statusOtherThan(usual: number, plantsUrl: string): Promise<number> {
  for (let id = Date.now(); ; id += 1) {
    const { status } = await create(plantsUrl, { id, name: 'Alder' });
    if (status !== usual) return status;
  }
}
