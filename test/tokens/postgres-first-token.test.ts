import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import pg from 'pg';
import { nameOfDatabase, sharedPostgres, untilRow } from '../helpers/postgres.ts';
import { makeStore } from '../helpers/postgres-connection.ts';
import { create, oneThread, startServer, temporaryFolder } from '../helpers/program.ts';
import { done, doneRecords, on } from '../helpers/run-here.ts';
import { underWay } from '../helpers/under-way.ts';

const server = await sharedPostgres({ after });

/** Starts a node in a folder; resolves when it is ready. */
async function startNode(t: TestContext, url: string, folder: string) {
  const node = await startServer(t, url, [...oneThread, '--ops-port', 'off'], { FOLDER: folder });
  /** Where the first token is, if there is one. */
  return { ...node, file: join(folder, 'data', 'first-start.token') };
}

/** Lets both nodes come to the point at which they make the token, before either does. */
async function atOnce<T>(url: string, start: () => Promise<T>): Promise<T> {
  await makeStore(url);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('BEGIN');
  await client.query('SELECT * FROM plant_store FOR UPDATE');
  const started = underWay(start());
  const waiting = `SELECT FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND datname = '${nameOfDatabase(url)}'`;
  await untilRow(server, `${waiting} HAVING count(*) = 2`);
  await client.query('COMMIT');
  await client.end();
  return started;
}

test('of two nodes that start at once on a database without tokens, one makes the first token, which both admit, and the other keeps no file', {
  timeout: 120_000,
}, async (t) => {
  const url = await server.makeDatabase();
  const folders = [await temporaryFolder(t), await temporaryFolder(t)];

  const nodes = await atOnce(url, () =>
    Promise.all(folders.map((folder) => startNode(t, url, folder))),
  );

  const logs = nodes.map(({ stderr }) => stderr()).join('');
  assert.match(logs, /another node has made the first token/);
  const tokens = await doneRecords('token', 'list', ...on(url));
  const names = tokens.map(({ name }) => name);
  assert.deepEqual(names, ['first-start']);
  const withFile = nodes.filter(({ file }) => existsSync(file));
  assert.equal(withFile.length, 1);
  const token = readFileSync(withFile[0]?.file ?? '', 'utf8').trim();
  const bearer = { Authorization: `Bearer ${token}` };
  for (const { plantsUrl } of nodes)
    assert.equal((await create(plantsUrl, { id: 1, name: 'Alder' }, bearer)).status, 200);
});

test('a node whose folder cannot hold the first token says so, and starts once the store has a token', async (t) => {
  const url = await server.makeDatabase();
  const folder = await temporaryFolder(t);
  writeFileSync(join(folder, 'data'), 'no folder');
  await assert.rejects(
    startNode(t, url, folder),
    /cannot write the first token to data\/first-start\.token .*"plant-store token create NAME --store postgres:[^"]*" gives /,
  );
  await done('token', 'create', 'app', ...on(url));
  await startNode(t, url, folder);
});
