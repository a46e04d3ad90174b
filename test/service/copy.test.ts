import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, readFileSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { after, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { pause } from '../helpers/pause.ts';
import { nameOfDatabase, startPostgres } from '../helpers/postgres.ts';
import {
  create,
  type Ended,
  type Owner,
  oneThread,
  startProgram,
  startServer,
  storePath,
  temporaryFolder,
} from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';
import { addPlants, alterStore, makeStore } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';
import { hasTerminal, onTerminal, startOnTerminal } from '../helpers/terminal.ts';
import { underWay } from '../helpers/under-way.ts';

const commonPlants = fileURLToPath(new URL('../data/common-plants.ndjson', import.meta.url));
const server = await startPostgres({ after });
const emptied = await server.makeDatabase();

/** For one test at a time. As empty as a new one, which would take three times as long. */
async function emptyDatabase(): Promise<string> {
  await server.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public', nameOfDatabase(emptied));
  return emptied;
}

/** A store that can be named with `--store`. */
async function newFile(t: Owner): Promise<string> {
  return `sqlite:${await storePath(t)}`;
}

function fileOf(store: string): string {
  return store.replace('sqlite:', '');
}

/** The program that script(1) runs. */
function childOf({ pid }: ChildProcess): number {
  const child = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8'));
  // A signal to 0 would reach the tests.
  assert(child > 0, 'the program has ended');
  return child;
}

const copy = (from: string, to: string, ...flags: string[]) =>
  runHere(['copy', '--from', from, '--to', to, ...flags]);

/** What it says of itself. @throws if it has failed */
async function copied(from: string, to: string): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await copy(from, to, '--json');
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

function failed({ code, stderr }: Ended, says: RegExp, expectedCode = 1): void {
  assert.match(stderr, says);
  assert.equal(code, expectedCode);
}

/** Both files hold the same plants and tokens, with every column. */
function assertSameContent(one: string, other: string): void {
  using db = new DatabaseSync(fileOf(one), { readOnly: true });
  db.prepare('ATTACH ? AS other').run(fileOf(other));
  for (const table of ['plants', 'tokens']) {
    const [here, there] = [`SELECT * FROM main.${table}`, `SELECT * FROM other.${table}`];
    for (const difference of [`${here} EXCEPT ${there}`, `${there} EXCEPT ${here}`]) {
      const rows = db.prepare(difference);
      rows.setReadBigInts(true);
      assert.deepEqual(rows.all(), []);
    }
  }
}

/**
 * Plants by three tokens, one of them revoked, by import and by the token of the environment; some
 * of them are hard to keep.
 */
async function makeVariedStore(): Promise<string> {
  const store = await newFile({ after });
  makeStore(fileOf(store));
  assert.equal((await runHere(['import', commonPlants, '--store', store])).code, 0);
  alterStore(
    fileOf(store),
    `INSERT INTO plants VALUES
      (-9223372036854775808, 'Yew', 'Taxus', 1, 1), (9223372036854775807, 'O''Hara', NULL, 2, 2), (-9007199254740993, '', '', 3, 3),
      (-1, ' a,b;"c"\\' || char(9, 13, 10, 1, 127), 'NULL', 4, 0), (-2, '{"🌱", NULL}', '\\N', 5, 2), (-3, 'e' || char(769), '{}', 0, -1);
    INSERT INTO tokens VALUES
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

test('a copy names nobody as the creator of a plant whose subject was forgotten', async (t) => {
  const [source, target] = [await variedStore(t), await newFile(t)];
  alterStore(fileOf(source), "INSERT INTO plants VALUES (-77, 'Alder', NULL, 1, 99)");
  await copied(source, target);
  for (const store of [source, target]) {
    const list = ['plants', 'list', '--details', '--name-contains', 'Alder', '--limit', 'none'];
    const { stdout } = await runHere([...list, '--json', '--store', store]);
    assert.match(stdout, /"name":"Alder".*"createdBy":"forgotten subject"/);
  }
});

test('a store goes to PostgreSQL and back with every id, name, tag, time and token as it was', async (t) => {
  const [source, database, back] = [await variedStore(t), await emptyDatabase(), await newFile(t)];

  const { code, stdout, stderr } = await copy(source, database);
  assert.equal(code, 0, stderr);
  assert.equal(stdout, '');
  const [made, ...said] = stderr.split('\n');
  assert.equal(made, `There was no store at ${database}; a new store has been made.`);
  assert.match(
    said.join('\n'),
    /^Copied 636 plants in [0-9.]+ s \([0-9,]+ plants\/s\); 0 existed already\.\nBoth stores hold 636 plants, with the digest /,
  );
  const [, digest] = /with the digest ([0-9a-f]{64})\.\n$/.exec(stderr) ?? assert.fail(stderr);

  const { source: of, target, ...counts } = await copied(database, back);
  assert.deepEqual(counts, {
    from: database,
    to: back,
    created: 636,
    same: 0,
    taken: 0,
    onlyInTarget: 0,
    tokens: 3,
  });
  assert.deepEqual(of, { plants: 636, largestId: '9223372036854775807', digest });
  assert.deepEqual(target, of);
  assertSameContent(back, source);
});

test('a copy that is run again writes nothing, carries what has happened to tokens, and leaves what came to the target', async (t) => {
  const [source, database] = [await variedStore(t), await emptyDatabase()];
  await copied(source, database);
  const before = await server.query(
    'SELECT xmin::text, * FROM plants ORDER BY id',
    nameOfDatabase(database),
  );
  await runHere(['token', 'revoke', 'greenhouse', '--store', source]);
  await runHere(['token', 'revoke', 'nightly', '--store', database]);

  const { created, same, tokens } = await copied(source, database);

  assert.deepEqual([created, same, tokens], [0, 636, 3]);
  assert.deepEqual(
    await server.query('SELECT xmin::text, * FROM plants ORDER BY id', nameOfDatabase(database)),
    before,
  );
  const { stdout } = await runHere(['token', 'list', '--json', '--store', database]);
  assert.deepEqual(stdout.match(/"state":"\w+"/g), [
    '"state":"revoked"',
    '"state":"revoked"',
    '"state":"revoked"',
  ]);
});

/** How many plants there are by now, in a store that may be just being made. */
async function countOf(store: string): Promise<number> {
  try {
    if (store.startsWith('sqlite:')) return countIn(fileOf(store));
    const [row] = await server.query('SELECT count(*) FROM plants', nameOfDatabase(store));
    return Number(row?.['count']);
  } catch (error) {
    assert.match(
      (error as Error).message,
      /no such table|unable to open|relation "plants" does not exist/,
    );
    return 0;
  }
}

function countIn(path: string): number {
  using db = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  return Number(db.prepare('SELECT count(*) AS n FROM plants').get()?.['n']);
}

test('a copy that is killed is taken up by the next one, in both directions', async (t) => {
  const plants = 80_000;
  const [source, database, back] = [await newFile(t), await emptyDatabase(), await newFile(t)];
  makeStore(fileOf(source), plants);
  for (const [from, to] of [
    [source, database],
    [database, back],
  ] as const) {
    const child = startProgram(['copy', '--from', from, '--to', to]);
    const exit = once(child, 'exit');
    while ((await countOf(to)) === 0) {
      assert.equal(child.exitCode, null);
      await pause();
    }
    child.kill('SIGKILL');
    await exit;
    const stored = await countOf(to);
    assert(stored > 0 && stored < plants, `${stored} plants`);

    const { created, same, source: of, target } = await copied(from, to);
    // What the killed one had sent to the database may be committed after its end, and so after the
    // count.
    assert(Number(same) >= stored, `${same} of ${stored} plants`);
    assert.deepEqual(
      [Number(created) + Number(same), (target as { plants: number }).plants],
      [plants, plants],
    );
    assert.deepEqual(target, of);
  }
});

test('a copy goes on when the database that it writes to is restarted', async (t) => {
  const [source, database] = [await newFile(t), await emptyDatabase()];
  makeStore(fileOf(source));
  await copied(source, database);
  // Several transactions, as `limits.store.snapshotPagePlants` has it.
  addPlants(fileOf(source), 40_000);
  await server.query(
    `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.3); RETURN NULL; END $$;
     CREATE TRIGGER waiting AFTER INSERT ON plants EXECUTE FUNCTION wait()`,
    nameOfDatabase(database),
  );
  const copying = underWay(copied(source, database));
  while ((await countOf(database)) === 0) await pause();
  await server.stop('immediate');
  await server.start();
  const { created, same, target } = await copying;
  assert.equal((target as { plants: number }).plants, 40_000);
  // Those of a transaction whose outcome was lost count as having been there.
  assert.equal(Number(created) + Number(same), 40_000);
});

test('while the source takes creates, a copy has all that were acknowledged before it, and a last one after the stop the rest', async (t) => {
  const [source, database] = [await newFile(t), await emptyDatabase()];
  const { plantsUrl, stop } = await startServer(t, fileOf(source), oneThread);
  const acknowledged: number[] = [];
  let isOpen = true;
  const client = async (first: number) => {
    for (let id = first; isOpen; id += 8) {
      assert.equal((await create(plantsUrl, { id, name: `plant ${id}` })).status, 200);
      acknowledged.push(id);
      await pause();
    }
  };
  const clients = Promise.all(Array.from({ length: 8 }, (_, index) => client(index)));
  clients.catch(() => (isOpen = false));
  while (acknowledged.length < 100) await pause();

  const before = [...acknowledged];
  const { created } = await copied(source, database);
  const stored = await server.query('SELECT id FROM plants', nameOfDatabase(database));
  assert.equal(stored.length, created);
  assert.deepEqual(
    before.filter((id) => !stored.some((plant) => plant['id'] === `${id}`)),
    [],
  );
  isOpen = false;
  await clients;
  assert.equal(await stop(), 0);
  const last = await copied(source, database);
  assert(Number(last['created']) > 0);
  assert.deepEqual(
    [last['same'], (last['target'] as { plants: number }).plants],
    [created, acknowledged.length],
  );
});

test('what the target has under the same ids is not overwritten, what only it has is told, and all else is copied', async (t) => {
  const [source, database] = [await variedStore(t), await emptyDatabase()];
  await copied(source, database);
  await server.query(
    `UPDATE plants SET name = 'Other' WHERE id IN (-1, 5); UPDATE plants SET tag = NULL WHERE id = -9007199254740993;
     DELETE FROM plants WHERE id = 7; INSERT INTO plants VALUES (-77, 'Mine', NULL, 0, 0), (9223372036854775806, 'Mine', NULL, 0, 0)`,
    nameOfDatabase(database),
  );
  const { code, stdout, stderr } = await copy(source, database, '--json');
  const { created, same, taken, onlyInTarget } = JSON.parse(stdout);
  assert.deepEqual([created, same, taken, onlyInTarget], [1, 632, 3, 2]);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /the stores differ: 3 ids belong to different plants in the target \(-9007199254740993, -1, 5\), which were not changed, and 2 /,
  );
  assert.match(stderr, /2 plants are only in the target \(-77, 9223372036854775806\)\n$/);
  const [other] = await server.query(
    'SELECT name FROM plants WHERE id = 5',
    nameOfDatabase(database),
  );
  assert.equal(other?.['name'], 'Other');
});

const meanwhile = {
  'gains a plant behind the copy': `INSERT INTO plants VALUES (-9223372036854775808, 'Mine', NULL, 0, 0) ON CONFLICT DO NOTHING`,
  'has a plant changed': `UPDATE plants SET name = 'Mine' WHERE id = 1`,
};

for (const [what, sql] of Object.entries(meanwhile)) {
  test(`a target that ${what} is found to be another when it is read back`, async (t) => {
    const [source, database] = [await newFile(t), await emptyDatabase()];
    makeStore(fileOf(source));
    await copied(source, database);
    addPlants(fileOf(source), 3);
    await server.query(
      `CREATE FUNCTION disturb() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${sql}; RETURN NULL; END $$;
       CREATE TRIGGER disturbing AFTER INSERT ON plants WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION disturb()`,
      nameOfDatabase(database),
    );
    failed(
      await copy(source, database),
      /the target has changed during the copy: it holds [34] plants with the digest \w+/,
    );
  });
}

test('a name that two tokens have stops a copy before anything is written, and the way out that it tells is one', async (t) => {
  const [source, database] = [await variedStore(t), await emptyDatabase()];
  await storedToken(database, 'nightly');
  const { code, stderr } = await copy(source, database);
  const [, wayOut = ''] =
    /the stores have different tokens with the name nightly; .*"plant-store (.*)"\n$/.exec(
      stderr,
    ) ?? [];
  assert.equal(code, 1, stderr);
  assert.equal(await countOf(database), 0);
  assert.equal((await runHere(wayOut.split(' '))).code, 0, wayOut);
  assert.equal((await copied(source, database))['created'], 636);
});

test('nothing is copied or restored into a database that may lose it, unless that is accepted', async (t) => {
  const [source, database] = [await newFile(t), await server.makeDatabase()];
  makeStore(fileOf(source), 3);
  const backup = join(await temporaryFolder(t), 'backup.db');
  await runHere(['backup', backup, '--store', source]);
  await server.set('fsync', 'off');
  t.after(() => server.set('fsync', 'on'));
  const says = /--accept-lost-commits/;
  failed(await copy(source, database), says);
  failed(await runHere(['restore', backup, '--store', database]), says);
  assert.equal(await countOf(database), 0);
  assert.equal((await copy(source, database, '--accept-lost-commits')).code, 0);
  assert.equal(
    (await runHere(['restore', backup, '--store', database, '--accept-lost-commits'])).code,
    0,
  );
});

test('a copy needs two stores, the first of which is there', async (t) => {
  const [file, database] = [await newFile(t), await emptyDatabase()];
  failed(await copy(file, database), /there is no store at /);
  failed(await copy(database, file), /there is no store in postgres:/);
  assert.equal(existsSync(fileOf(file)), false);
  failed(await copy(database, database), /--from and --to are the same store/, 2);
  failed(await copy(file, file.replace('/plants.db', '/./plants.db')), /are the same store/, 2);
  failed(await runHere(['copy', '--from', file]), /copy needs --to STORE/, 2);
  failed(await runHere(['copy', '--to', file]), /copy needs --from STORE/, 2);
});

test('a command on a database without a store ends with 1, makes none, and names the way out', async (t) => {
  const database = await emptyDatabase();
  const backup = join(await temporaryFolder(t), 'backup.db');
  const wayOut =
    'name the store with --store or PLANT_STORE_STORE, or make one there with "plant-store serve --store';
  const commands = [
    ['plants', 'count'],
    ['token', 'create', 'my-app'],
    ['token', 'revoke', 'my-app'],
    ['import', commonPlants],
    ['export'],
    ['backup', backup],
  ];
  for (const { code, stderr } of await Promise.all(
    commands.map((command) => runHere([...command, '--store', database])),
  )) {
    assert(stderr.includes(`there is no store in ${database}; ${wayOut}`), stderr);
    assert.equal(code, 1);
  }
  const made = `SELECT count(*) AS n FROM pg_tables WHERE schemaname = 'public'`;
  assert.equal((await server.query(made, nameOfDatabase(database)))[0]?.['n'], '0');
});

test('a copy that is interrupted says what was done and how to go on, and ends by the signal', async (t) => {
  const [source, target] = [await newFile(t), await newFile(t)];
  makeStore(fileOf(source), 150_000);
  for (const signal of ['SIGINT', 'SIGTERM'] satisfies NodeJS.Signals[]) {
    const folder = dirname(fileOf(target));
    const appeared = Promise.withResolvers<void>();
    const watcher = watch(folder, () => appeared.resolve());
    const child = startProgram(['copy', '--from', source, '--to', target]);
    t.after(() => child.kill('SIGKILL'));
    const printed = Promise.all([text(child.stderr), once(child, 'exit')]);
    await appeared.promise;
    watcher.close();
    child.kill(signal);
    const [stderr] = await printed;
    assert.equal(child.signalCode, signal, stderr);
    const said = new RegExp(
      `^plant-store: ${signal} has stopped the copy before its end; \\d+ plants were copied until then, and \\d+ existed already; run it again to go on$`,
      'm',
    );
    assert.match(stderr, said);
  }
  await copied(source, target);
  assertSameContent(target, source);
});

test('a copy that is interrupted on a terminal leaves no part of its bar', async (t) => {
  if (!hasTerminal(t)) return;
  const [source, target] = [await newFile(t), await newFile(t)];
  makeStore(fileOf(source), 150_000);
  const terminal = startOnTerminal(100, ['copy', '--from', source, '--to', target]);
  t.after(() => terminal.kill('SIGKILL'));
  let written = '';
  for await (const chunk of terminal.stdout?.setEncoding('utf8') ?? []) {
    if (!written.includes('%') && `${written}${chunk}`.includes('%'))
      process.kill(childOf(terminal), 'SIGINT');
    written += chunk;
  }
  const afterBar = written.split('\r\u001b[K').at(-1) ?? '';
  assert.match(
    afterBar,
    /^[^\r\n]*plant-store: SIGINT has stopped the copy before its end; .*run it again to go on/,
  );
});

test('a copy between two files keeps the time of each plant, and shows on a terminal how far it is', async (t) => {
  if (!hasTerminal(t)) return;
  const [source, target] = [await newFile(t), await newFile(t)];
  makeStore(fileOf(source), 100_000);
  const written = await onTerminal(80, ['copy', '--from', source, '--to', target]);
  assert.match(written, /\[#+\.+\] [0-9]+ %, [0-9,]+ plants, /);
  assertSameContent(target, source);
});
