import assert from 'node:assert/strict';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { keepCreating } from '../helpers/load.ts';
import { pause } from '../helpers/pause.ts';
import { startPostgres } from '../helpers/postgres.ts';
import { oneThread, startProgram, startServer, temporaryFolder } from '../helpers/program.ts';
import { done, on, runHere } from '../helpers/run-here.ts';
import { addPlants, makeStore } from '../helpers/store-file.ts';
import { underWay } from '../helpers/under-way.ts';
import { argsOf, assertSameContent, copied, databaseOn, fileOf, newFile } from './copies.ts';

const server = await startPostgres({ after });
const { emptyDatabase, inDatabase, countOf } = await databaseOn(server);

test('a copy that is killed is taken up by the next one, in both directions', async (t) => {
  const plants = 30_000;
  const [source, database, back] = [await newFile(t), await emptyDatabase(), await newFile(t)];
  makeStore(fileOf(source), plants);
  for (const [from, to] of [
    [source, database],
    [database, back],
  ] as const) {
    const child = startProgram(argsOf(from, to));
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
    // What the killed one had sent to the database may be committed after its end.
    assert(same >= stored, `${same} of ${stored} plants`);
    assert.deepEqual([created + same, target.plants], [plants, plants]);
    assert.deepEqual(target, of);
  }
});

test('a copy goes on when the database that it writes to is restarted', async (t) => {
  const [source, database] = [await newFile(t), await emptyDatabase()];
  makeStore(fileOf(source));
  await copied(source, database);
  // Several transactions, as `limits.store.snapshotPagePlants` has it.
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
  const child = startProgram(argsOf(source, target));
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
    assert.deepEqual([code, await countOf(database)], [1, 0]);
    await done(...args, '--accept-lost-commits');
    await emptyDatabase();
  }
});
