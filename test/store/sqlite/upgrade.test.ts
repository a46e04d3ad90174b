import assert from 'node:assert/strict';
import { copyFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { changesIn, killedAt } from '../../helpers/kill.ts';
import { oneThread, startServer, storePath, temporaryFolder } from '../../helpers/program.ts';
import { done, doneJson, runHere } from '../../helpers/run-here.ts';
import {
  alterStore,
  lockStore,
  newStore,
  openStoreAt,
  storedPlants,
} from '../../helpers/store-file.ts';

/** Stores that the releases themselves have made, with the digest that each has printed. */
const releases = [
  ['1.0.0', 1, '38193ba8f6a3a06f1ab616265afb1b3aca9f0ff48549fec174727828d11559ba'],
  ['1.1.0', 3, '3e3eec37be56f2261299aeac7791bb8e2e98576ea36c39a50d4d65efabfbfda2'],
  ['2.0.0', 10, '3e3eec37be56f2261299aeac7791bb8e2e98576ea36c39a50d4d65efabfbfda2'],
] as const;

async function oldStore(t: TestContext, version = '1.0.0'): Promise<string> {
  const store = await storePath(t);
  copyFileSync(fileURLToPath(new URL(`../../data/store-${version}.db`, import.meta.url)), store);
  return store;
}

/** Read from a copy, since SQLite makes files beside what it opens. */
async function plantsOf(t: TestContext, version = '1.0.0') {
  return storedPlants(await oldStore(t, version));
}

function schemaOf(path: string): unknown {
  using db = new DatabaseSync(path, { readOnly: true });
  return db.prepare('PRAGMA user_version').get()?.['user_version'];
}

function backupsBeside(store: string): string[] {
  const names = readdirSync(dirname(store)).filter((name) =>
    /^plants\.db\.schema-(1|3|10)-[0-9]{8}T[0-9]{6}Z-[0-9]+$/.test(name),
  );
  return names.map((name) => join(dirname(store), name));
}

for (const [version, schema, digest] of releases)
  test(`a store that version ${version} has made is upgraded, after a backup beside it that can be verified`, async (t) => {
    const store = await oldStore(t, version);
    const before = await plantsOf(t, version);
    // A name that 2.0.0 took.
    const name = version === '2.0.0' ? 'import (token)' : 'import';
    alterStore(store, `UPDATE tokens SET name = '${name}' WHERE name = 'old'`);

    const named = ['--store', `sqlite:${store}`];
    await done('upgrade', ...named);

    assert.equal(schemaOf(store), 11);
    assert.deepEqual(storedPlants(store), before);
    const newest = await done('plants', 'list', '--newest', '--json', ...named);
    assert.equal(newest.stdout.trimEnd().split('\n').length, before.length);
    {
      await using opened = await openStoreAt(store);
      const plantWith = (id: bigint, name: string, tag?: string) => ({
        id,
        name,
        tag,
        createdBy: 0,
      });
      const greatest = plantWith(2n ** 63n - 1n, 'Größter', 'Ёлка 🌲');
      const sent = [greatest, plantWith(1n, 'Another'), plantWith(-77n, 'New')];
      assert.deepEqual(await opened.createPlants(sent), ['same', 'taken', 'created']);
    }
    const first = await done('plants', 'list', '--newest', '--limit', '1', '--json', ...named);
    assert.match(first.stdout, /^\{"id":-77,/);
    const tokens = await done('token', 'list', ...named);
    assert.match(tokens.stdout, /first-start.*greenhouse.*import \(token\).*revoked/s);
    await done('token', 'rotate', 'greenhouse', ...named);

    const [backup, ...more] = backupsBeside(store);
    assert(backup !== undefined && more.length === 0);
    assert.equal(schemaOf(backup), schema);
    const verified = await runHere(['verify', backup]);
    assert.deepEqual([verified.code, /^digest +(.*)$/m.exec(verified.stdout)?.[1]], [0, digest]);

    const identity = async () => (await doneJson('verify', ...named)).identity;
    const made = await identity();
    assert.match(made, /^[0-9a-f]{32}$/);
    await (await openStoreAt(store)).close();
    assert.equal(await identity(), made);
    assert.deepEqual(backupsBeside(store), [backup]);
  });

test('a store that was made between two releases is refused by name, and stays as it is', async (t) => {
  const store = await newStore(t, 2);
  alterStore(store, 'PRAGMA user_version = 7');
  for (const command of [['serve', '--port', '0'], ['plants', 'count'], ['verify']]) {
    const { code, stderr } = await runHere([...command, '--store', `sqlite:${store}`]);
    assert.match(stderr, /was made between two releases \(schema 7\).*export the plants/);
    assert.equal(code, 1);
  }
  assert.equal(schemaOf(store), 7);
});

test('an upgrade that is killed after its backup is done again at the next start', async (t) => {
  const store = await oldStore(t);
  const isBackedUp = changesIn(dirname(store), 1, () => backupsBeside(store).length > 0);
  // The upgrade waits for the lock, and the backup does not.
  const lock = lockStore(t, store);
  await killedAt(isBackedUp, store);
  lock.release();

  const { stderr, stop } = await startServer(t, store, oneThread);
  await stop();

  assert.match(
    stderr(),
    /"the store is of an earlier version; making a backup".*"the store has been upgraded".*"ready"/s,
  );
  assert.equal(schemaOf(store), 11);
  assert.deepEqual(storedPlants(store), await plantsOf(t));
  for (const backup of backupsBeside(store))
    assert.equal((await runHere(['verify', backup])).code, 0);
});

test('a store of an earlier version can be looked into and backed up before it is upgraded, and a command that writes says what upgrades it', async (t) => {
  const store = await oldStore(t);
  const named = ['--store', `sqlite:${store}`];

  assert.equal((await runHere(['verify', ...named])).code, 0);
  assert.equal((await runHere(['plants', 'count', ...named])).stdout, '23\n');
  assert.match((await runHere(['token', 'list', ...named])).stdout, /greenhouse.*valid/);
  for (const command of [
    ['plants', 'list', '--newest'],
    ['token', 'create', 'another'],
  ]) {
    const { code, stdout, stderr } = await runHere([...command, ...named]);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(
      stderr,
      /^plant-store: the store at .* is of an earlier plant-store \(schema 1\); "plant-store upgrade --store sqlite:\/[^"]+" upgrades it\n$/,
    );
  }
  const backup = join(dirname(store), 'backup.db');
  const backedUp = await runHere(['backup', backup, ...named]);
  assert.equal(backedUp.code, 0);
  assert.match(
    backedUp.stderr,
    /The backup could not be recorded in the store: .* of an earlier plant-store/,
  );
  assert.equal((await runHere(['verify', backup])).code, 0);
  assert.equal(schemaOf(store), 1);
});

test('a backup of an earlier version is restored, and upgraded then', async (t) => {
  const old = await oldStore(t);
  const backup = join(dirname(old), 'backup.db');
  await runHere(['backup', backup, '--store', `sqlite:${old}`]);
  const store = join(await temporaryFolder(t), 'data/plants.db');

  assert.equal((await runHere(['restore', backup, '--store', `sqlite:${store}`])).code, 0);
  assert.equal(schemaOf(store), 11);
  assert.deepEqual(storedPlants(store), await plantsOf(t));
});
