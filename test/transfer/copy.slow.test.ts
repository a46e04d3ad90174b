import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { limits } from '../../src/limits.ts';
import { flip } from '../helpers/damage.ts';
import { withLimits } from '../helpers/faults.ts';
import { keepCreating } from '../helpers/load.ts';
import { pause } from '../helpers/pause.ts';
import { startPostgres } from '../helpers/postgres.ts';
import { oneThread, startProgram, startServer, temporaryFolder } from '../helpers/program.ts';
import { done, doneJson, on, refused, runHere } from '../helpers/run-here.ts';
import { addPlants, makeStore } from '../helpers/store-file.ts';
import { underWay } from '../helpers/under-way.ts';
import { argsOf, assertSameContent, copied, databaseOn, fileOf, newFile } from './copies.ts';

const server = await startPostgres({ after });
const { emptyDatabase, inDatabase, countOf } = await databaseOn(server);

/** Many transactions, of which few are under way. */
const inSmallSteps = withLimits({ store: { snapshotPagePlants: 100 } });

test('a copy that is killed is taken up by the next one, in both directions', async (t) => {
  const plants = 30_000;
  /** Kills a copy in the middle. One that has ended before is begun again. */
  async function kill(from: string, target: () => Promise<string>) {
    for (let tries = 0; tries < 10; tries += 1) {
      const to = await target();
      const child = startProgram(argsOf(from, to), inSmallSteps);
      const exit = once(child, 'exit');
      while ((await countOf(to)) === 0 && child.exitCode === null) await pause();
      child.kill('SIGKILL');
      await exit;
      const stored = await countOf(to);
      if (child.exitCode === null && stored < plants) return { to, stored };
      assert.equal(child.exitCode ?? 0, 0);
    }
    assert.fail('each copy has ended before its kill');
  }

  const source = await newFile(t);
  makeStore(fileOf(source), plants);
  let from = source;
  for (const target of [emptyDatabase, () => newFile(t)]) {
    const { to, stored } = await kill(from, target);
    assert(stored > 0);
    const { created, same, source: read, target: written } = await copied(from, to);
    // What the killed one had sent to the database may be committed after its end.
    assert(same >= stored, `${same} of ${stored} plants`);
    assert.deepEqual([created + same, written.plants], [plants, plants]);
    assert.deepEqual(written, read);
    from = to;
  }
});

test('a copy goes on when the database that it writes to is restarted', async (t) => {
  const [source, database] = [await newFile(t), await emptyDatabase()];
  makeStore(fileOf(source));
  await copied(source, database);
  // More transactions than run at a time: else all may end before the stop.
  const pagePlants = 2_000 as typeof limits.store.snapshotPagePlants;
  t.mock.property(limits.store, 'snapshotPagePlants', pagePlants);
  addPlants(fileOf(source), 20_000);
  await inDatabase(
    `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.3); RETURN NULL; END $$;
     CREATE TRIGGER waiting AFTER INSERT ON plants EXECUTE FUNCTION wait()`,
  );
  const copying = underWay(copied(source, database));
  while ((await countOf(database)) === 0) await pause();
  await server.stop('immediate');
  await server.start();
  const { created, same, target } = await copying;
  // Plants of a transaction whose outcome was lost count as having been there.
  assert.deepEqual([target.plants, created + same], [20_000, 20_000]);
});

test('while the source takes creates, a copy has all that were acknowledged before it, and a last one after the stop the rest', async (t) => {
  const [source, database] = [await newFile(t), await emptyDatabase()];
  const { plantsUrl, stop } = await startServer(t, fileOf(source), oneThread);
  const load = keepCreating(plantsUrl);
  await load.acknowledgedMore(100);
  const before = [...load.acknowledged];
  const { created } = await copied(source, database);
  const stored = new Set((await inDatabase('SELECT id FROM plants')).map(({ id }) => `${id}`));
  assert.equal(stored.size, created);
  assert.deepEqual(
    before.filter((id) => !stored.has(`${id}`)),
    [],
  );
  await load.stop();
  assert.equal(await stop(), 0);
  const { same, target } = await copied(source, database);
  assert.deepEqual([same, target.plants], [created, load.acknowledged.length]);
});

test('a copy that is interrupted says what was done and how to go on, and ends by the signal', async (t) => {
  const [source, target] = [await newFile(t), await newFile(t)];
  makeStore(fileOf(source), 50_000);
  const appeared = Promise.withResolvers<void>();
  const watcher = watch(dirname(fileOf(target)), () => appeared.resolve());
  const child = startProgram(argsOf(source, target), inSmallSteps);
  t.after(() => child.kill('SIGKILL'));
  const ended = Promise.all([text(child.stderr), once(child, 'exit')]);
  await appeared.promise;
  watcher.close();
  child.kill('SIGINT');
  const [stderr] = await ended;
  assert.equal(child.signalCode, 'SIGINT', stderr);
  assert.match(stderr, /^plant-store: SIGINT has stopped the copy .*; run it again to go on$/m);
  await copied(source, target);
  assertSameContent(target, source);
});

test('nothing is copied or restored into a database that may lose it, unless that is accepted', async (t) => {
  const [source, database] = [await newFile(t), await emptyDatabase()];
  makeStore(fileOf(source), 3);
  const backup = join(await temporaryFolder(t), 'backup.db');
  await done('backup', backup, '--store', source);
  await server.set('fsync', 'off');
  t.after(() => server.set('fsync', 'on'));
  for (const args of [argsOf(source, database), ['restore', backup, ...on(database)]]) {
    const { code, stderr } = await runHere(args);
    assert.match(stderr, /--accept-lost-commits/);
    assert.doesNotMatch(stderr, /a new store/);
    assert.deepEqual([code, await countOf(database)], [1, 0]);
    await done(...args, '--accept-lost-commits');
    await emptyDatabase();
  }
});

test('a store that is copied from a file into a database, and backs up under two of its names, is one store without a loss', async (t) => {
  const [source, url] = [await newFile(t), await emptyDatabase()];
  const file = fileOf(source);
  makeStore(file, 5);
  const folder = await temporaryFolder(t);
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  const backUp = (store: string) => {
    t.mock.timers.tick(3_600_000);
    return doneJson('backup', folder, '--keep', '1s:1s', ...on(store));
  };
  await backUp(file);
  await done(...argsOf(source, url));
  const otherName = url.replace('127.0.0.1', 'localhost');
  assert.notEqual(otherName, url);
  // Each name keeps its newest, so that each node finds what it has backed up.
  for (const [store, removed] of [
    [url, 0],
    [otherName, 0],
    [url, 1],
  ] as const) {
    await inDatabase('INSERT INTO plants SELECT max(id) + 1, $$Yew$$, NULL, 1, 0 FROM plants');
    const made = await backUp(store);
    assert.deepEqual([made.warning, made.removed], [undefined, removed]);
  }
  const { identity } = await doneJson('verify', ...on(url));
  assert.equal((await doneJson('verify', ...on(file))).identity, identity);
  assert.equal((await doneJson('verify', folder)).plants, 8);

  await inDatabase('DELETE FROM plants WHERE id = 6');
  const lost = /^Plants are lost: .*\. Bring the plants back, also while services run, with /;
  for (const store of [otherName, url]) assert.match((await backUp(store)).warning, lost);
  const another = await server.makeDatabase();
  const trace = ['serve', '--port', '0', '--backup-to', folder];
  await inDatabase('DROP TABLE plant_store, plants, tokens, sessions, backups, heartbeat');
  await refused(/there was one: \S+Z\.db is a backup of it with \d plants/, ...trace, ...on(url));
  const { stderr } = await runHere(['doctor', '--backup-to', folder, ...on(another)]);
  assert.doesNotMatch(stderr, /there was one/);
});

test('verify tells a database of which a page is damaged, and a backup of it is not made', async (t) => {
  const [source, database] = [await newFile(t), await emptyDatabase()];
  makeStore(fileOf(source), 1_000);
  await copied(source, database);
  const [file] = await inDatabase(`SELECT pg_relation_filepath('plants') AS path`);
  await server.stop('fast');
  flip(join(server.folder, `${file?.['path']}`), 8_192, 0xff);
  await server.start();
  await refused(/is damaged \(invalid page in block 1 .*\); restore it/, 'verify', ...on(database));
  const folder = await temporaryFolder(t);
  await refused(/invalid page in block 1/, 'backup', join(folder, 'b.db'), ...on(database));
  assert.deepEqual(readdirSync(folder), []);
});
