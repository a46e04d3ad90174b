import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { withLimits } from '../helpers/faults.ts';
import { nameOfDatabase, sharedPostgres } from '../helpers/postgres.ts';
import { untilRow } from '../helpers/postgres-pair.ts';
import {
  childrenOf,
  runProgram,
  startInTest,
  takesNoCode,
  temporaryFolder,
} from '../helpers/program.ts';
import { failed } from '../helpers/run-here.ts';

const server = await sharedPostgres({ after });

/** What prove has left in the database, or the operator has had there before. */
async function tablesIn(url: string): Promise<unknown[]> {
  const rows = await server.query(
    "SELECT schemaname || '.' || tablename AS name FROM pg_tables WHERE schemaname !~ '^(pg_|information_schema)' ORDER BY 1",
    url,
  );
  return rows.map(({ name }) => name);
}

async function scratchSchemas(url: string): Promise<unknown[]> {
  return server.query("SELECT 1 FROM pg_namespace WHERE nspname LIKE 'plant_store_scratch_%'", url);
}

test('prove kills a service on a database again and again, finds every plant, and leaves nothing behind', async () => {
  const url = (await server.makeDatabase()).replace('//postgres@', '//postgres:open-sesame@');
  await server.query('CREATE TABLE plants (of_the_operator int)', url);

  const { code, stdout, stderr } = await runProgram(['prove', '--store', url], {
    ...withLimits({ prove: { seconds: 2 } }),
    PLANT_STORE_PORT: '1',
    PGUSER: 'nobody',
  });

  assert.deepEqual([code, stderr], [0, ''], stdout);
  for (const line of [
    /^database {2}postgres:\/\/postgres@127\.0\.0\.1:\d+\/plants_\w+$/m,
    /^promise {3}each plant is on the disk of the server before it is acknowledged;/m,
    /^load {6}[1-9][0-9,]* plants acknowledged on 16 connections, [1-9][0-9,]* a second$/m,
    /^kills {5}([2-9]|[1-9][0-9]+)$/m,
    /^plants {4}0 lost, 0 changed, 0 extra$/m,
    /^verdict {3}passed: /m,
    /^unproved {2}only the service was killed, not the database/m,
  ])
    assert.match(stdout, line);
  assert.deepEqual(await tablesIn(url), ['public.plants']);
  assert.deepEqual(await scratchSchemas(url), []);
});

test('prove finds out when a database loses plants, and ends with 1', {
  skip: takesNoCode,
}, async (t) => {
  const url = await server.makeDatabase();
  const module = join(await temporaryFolder(t), 'saboteur.mjs');
  // Every insert of the service loses some of its new plants. A retry may look for earlier plants.
  writeFileSync(
    module,
    `import pg from ${JSON.stringify(import.meta.resolve('pg'))};
    const { query } = pg.Client.prototype;
    pg.Client.prototype.query = function (config, ...rest) {
      const { callback } = config;
      if (callback) config.callback = (error, results) => {
        const created = [results].flat().find((one) => one?.command === 'INSERT')?.rows.map(([id]) => id);
        if (!created) return callback(error, results);
        const text = 'DELETE FROM plants WHERE id % 16 = 3 AND id = ANY($1::bigint[])';
        query.call(this, text, [created], () => callback(error, results));
      };
      return query.call(this, config, ...rest);
    };`,
  );
  const args = ['prove', '--store', url];
  const { code, stdout, stderr } = await runProgram(args, { NODE_OPTIONS: `--import=${module}` });
  assert.deepEqual([code, stderr], [1, ''], stdout);
  assert.match(stdout, /^plants {4}[1-9][0-9]* lost, 0 changed, 0 extra$/m);
  assert.match(stdout, /^verdict {3}FAILED/m);
  assert.deepEqual(await scratchSchemas(url), []);
});

test('SIGTERM ends prove with 1, and leaves neither a schema nor a process behind', {
  timeout: 120_000,
  skip: process.platform === 'linux' ? false : 'the children of a process are read from /proc',
}, async (t) => {
  const url = await server.makeDatabase();
  const long = withLimits({ prove: { seconds: 3_600 } });
  const { child, ended } = startInTest(t, ['prove', '--store', url], long);
  const inserts = `query LIKE '%INSERT INTO plants%' AND datname = '${nameOfDatabase(url)}'`;
  await untilRow(server, `SELECT 1 FROM pg_stat_activity WHERE ${inserts}`);
  const children = childrenOf(child.pid);
  child.kill('SIGTERM');
  failed(
    await ended,
    /^plant-store: stopped by SIGTERM before its time; nothing is left behind\n$/,
  );
  assert.deepEqual(await scratchSchemas(url), []);
  for (const pid of children) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
});
