import assert from 'node:assert/strict';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { limits } from '../../src/limits.ts';
import { programCommand } from '../../src/program.ts';
import { mounted } from '../helpers/mounts.ts';
import { until } from '../helpers/pause.ts';
import { sharedPostgres } from '../helpers/postgres.ts';
import {
  childrenOf,
  type Ended,
  startInTest,
  takesNoCode,
  temporaryFolder,
} from '../helpers/program.ts';
import { failed, on, runHere } from '../helpers/run-here.ts';

const server = await sharedPostgres({ after });

// A proof in this process kills the built service, too, which starts sooner.
const built = process.env['BUILT_PROGRAM'];
if (built !== undefined) (programCommand as unknown as string[])[1] = built;

/** With two kills at least, each after some hundred acknowledged plants, or when the time is over. */
function prove(
  t: TestContext,
  store: string,
  env: Readonly<Record<string, string>>,
  seconds = 1,
): Promise<Ended> {
  t.mock.method(Math, 'random', () => 0.5);
  t.mock.property(limits.prove, 'seconds', seconds as 20);
  t.mock.property(limits.prove, 'syncMs', 50 as 1_000);
  return runHere(['prove', ...on(store)], { PATH: process.env['PATH'] ?? '', ...env });
}

/** A database with a table of its operator, and a question for all that is in it. */
async function usedDatabase() {
  const url = await server.makeDatabase();
  await server.query('CREATE TABLE plants (of_the_operator int)', url);
  const holds = () =>
    server.query(
      `SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)'
        UNION ALL SELECT schemaname || '.' || tablename FROM pg_tables
          WHERE schemaname !~ '^(pg_|information_schema)' ORDER BY 1`,
      url,
    );
  return { url, store: url.replace('//postgres@', '//postgres:open-sesame@'), holds };
}

/** What the report of every proof that has passed has. */
const passed: readonly RegExp[] = [
  /^load {6}[1-9][0-9,]* plants acknowledged on 16 connections, [1-9][0-9,]* a second$/m,
  /^kills {5}([2-9]|[1-9][0-9]+)$/m,
  /^plants {4}0 lost, 0 changed, 0 extra$/m,
  /^verdict {3}passed: /m,
];

const ofOperator = {
  PLANT_STORE_BASE_PATH: '/garden',
  PLANT_STORE_TOKEN: 'of-the-operator',
  PLANT_STORE_PORT: '1',
  PGUSER: 'nobody',
};

test('prove kills a loaded service on PostgreSQL again and again, finds every plant, and leaves nothing behind', async (t) => {
  const { store, holds } = await usedDatabase();
  const before = await holds();
  const { code, stdout, stderr } = await prove(t, store, ofOperator);
  assert.deepEqual([code, stderr], [0, ''], stdout);
  for (const line of [
    /^database {2}postgres:\/\/postgres@127\.0\.0\.1:\d+\/plants_\w+$/m,
    /^promise {3}each plant is on the disk of the server before it is acknowledged;/m,
    /^unproved {2}only the service was killed, not the database/m,
    ...passed,
  ])
    assert.match(stdout, line);
  assert.deepEqual(await holds(), before);
});

test('the same on SQLite, and of a disk in memory prove says that it proves nothing about power cuts', async (t) => {
  const memory = existsSync('/dev/shm');
  const folder = await temporaryFolder(t, memory ? '/dev/shm' : tmpdir());
  const { code, stdout, stderr } = await prove(t, join(folder, 'plants.db'), ofOperator);
  assert.deepEqual([code, stderr], [0, ''], stdout);
  for (const line of [
    /^disk {6}.*, fdatasync p50 [0-9.]+ ms, p99 [0-9.]+ ms$/m,
    memory ? /^warning {3}tmpfs is memory: nothing in it outlives a power cut/m : /^/,
    /^unproved {2}a kill is not a power cut/m,
    ...passed,
  ])
    assert.match(stdout, line);
  assert.deepEqual(readdirSync(folder), []);
});

/** With every eighth reply of a service, it changes plants on a connection of its own. */
const saboteur = `import { Socket } from 'node:net';
  import { DatabaseSync } from 'node:sqlite';
  // Threads have no arguments, but the variables of the process that has started them.
  const { PLANT_STORE_STORE: store } = process.env;
  const { write } = Socket.prototype;
  let replies = 0;
  let db;
  Socket.prototype.write = function (...args) {
    if (!String(args[0]).startsWith('HTTP/1.1 200')) return write.apply(this, args);
    db ??= new DatabaseSync(store.slice('sqlite:'.length), { timeout: 10_000 });
    replies += 1;
    if (replies % 8 === 0) db.exec("UPDATE plants SET name = 'Oak' WHERE id % 16 = 3");
    return write.apply(this, args);
  };`;

test('prove finds out when plants are changed, says how many, and ends with 1', {
  skip: takesNoCode,
}, async (t) => {
  const folder = await temporaryFolder(t);
  const module = join(await temporaryFolder(t), 'saboteur.mjs');
  writeFileSync(module, saboteur);
  const env = { NODE_OPTIONS: `--import=${module}` };
  const proved = await prove(t, join(folder, 'plants.db'), env, 30);
  const { code, stdout, stderr } = proved;
  assert.deepEqual([code, stderr], [1, ''], stdout);
  assert.match(stdout, /^plants {4}0 lost, [1-9][0-9]* changed, 0 extra$/m);
  assert.match(stdout, /^verdict {3}FAILED/m);
  assert.deepEqual(readdirSync(folder), []);
});

test('SIGTERM while the service creates plants ends prove with 1, and leaves neither data nor a process behind', {
  skip: process.platform === 'linux' ? false : 'the children of a process are read from /proc',
}, async (t) => {
  const { url, store, holds } = await usedDatabase();
  const before = await holds();
  const { child, ended } = startInTest(t, ['prove', ...on(store)]);
  const filled = `SELECT FROM pg_class WHERE relname = 'plants'
    AND relnamespace <> 'public'::regnamespace AND pg_relation_size(oid) > 8192`;
  // Between two lives there is no service.
  const children = await until(
    async () => ((await server.query(filled, url)).length > 0 ? childrenOf(child.pid) : []),
    (found) => found.length > 0,
  );
  child.kill('SIGTERM');
  failed(
    await ended,
    /^plant-store: stopped by SIGTERM before its time; nothing is left behind\n$/,
  );
  assert.deepEqual(await holds(), before);
  assert.equal(children.length, 1);
  for (const pid of children) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
});

test('prove needs a folder that it may write, with room, and says so', async (t) => {
  const says =
    /: cannot make a folder in \/proc \(.*\); run this as the user that the store belongs to, or name /;
  failed(await runHere(['prove', ...on('/proc/plants.db')]), says);

  const small = mounted(t, 'size=32m');
  if (small === undefined) return;
  failed(
    await runHere(['prove', ...on(join(small, 'plants.db'))]),
    /: the disk is too full: 512 MiB are needed in .*, and 32 MiB are free; make room, or name a store elsewhere with --store\n$/,
  );
});
