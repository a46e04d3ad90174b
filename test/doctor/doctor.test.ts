import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs, { chmodSync, existsSync, readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { assertSound, diagnose as diagnoseStore } from '../helpers/diagnosis.ts';
import { mounted, mountedBtrfs } from '../helpers/mounts.ts';
import { create, oneThread, startServer, temporaryFolder, token } from '../helpers/program.ts';
import { failed, on, runHere } from '../helpers/run-here.ts';
import { alterStore, makeStore, newStore } from '../helpers/store-file.ts';

const diagnose = (path: string) => diagnoseStore(`sqlite:${path}`);

/** A store with two plants, on which no server runs. */
async function quietStore(t: TestContext, parent?: string): Promise<string> {
  const store = join(await temporaryFolder(t, parent), 'plants.db');
  makeStore(store);
  alterStore(
    store,
    `INSERT INTO plants VALUES (-3, 'Alder', NULL, ${Date.now()}, 0), (8, 'Alder', NULL, ${Date.now()}, 0)`,
  );
  return store;
}

const memory = existsSync('/dev/shm') ? '/dev/shm' : undefined;

test('doctor checks a store on which no server runs, also one that was killed, and leaves its files as they are; the log of a server warns of a store in memory', async (t) => {
  const store = await quietStore(t, memory);
  const before = readFileSync(store);
  const found = await diagnose(store);
  assertSound(found);
  assert.deepEqual(readFileSync(store), before);
  const { stdout } = await runHere(['doctor', '--store', `sqlite:${store}`]);
  assert.match(stdout, /^ok +schema +a plant store with the identity [0-9a-f]{32}$/m);

  const server = await startServer(t, store, oneThread);
  const warns = /"level":"warn".*"check":"file system","msg":"tmpfs is memory/;
  if (memory !== undefined) assert.match(server.stderr(), warns);
  assert.equal((await create(server.plantsUrl, { id: 9, name: 'Ash' })).status, 200);
  await server.stop('SIGKILL');
  const [file, log] = [readFileSync(store), readFileSync(`${store}-wal`)];
  const afterKill = await diagnose(store);
  assertSound(afterKill);
  assert.deepEqual([readFileSync(store), readFileSync(`${store}-wal`)], [file, log]);
});

test('doctor on a store that is not there yet checks where it would be, and makes nothing', async (t) => {
  const folder = await temporaryFolder(t);
  const found = await diagnose(join(folder, 'new/data/plants.db'));
  assertSound(found);
  assert.match(
    found.lines['schema'] ?? '',
    /there is no store at .*plants\.db yet; "plant-store serve --store sqlite:\/[^"]+" makes the store/,
  );
  assert.match(found.lines['folder'] ?? '', /new\/data can be made in /);
  assert(!existsSync(join(folder, 'new')));
});

test('doctor warns when other users can read the store, and says what to run', async (t) => {
  const store = await quietStore(t);
  chmodSync(store, 0o644);
  const { code, lines } = await diagnose(store);
  assert.equal(code, 0);
  const [, remedy = ''] =
    /^warning .*mode 0644.*; (chmod .*)$/.exec(lines['file'] ?? '') ?? assert.fail(lines['file']);
  assert.equal(spawnSync('sh', ['-c', remedy]).status, 0);
  assertSound(await diagnose(store));
});

test('doctor names a trigger on a table of the store, which may take plants away', async (t) => {
  const store = await newStore(t, 1);
  alterStore(store, 'CREATE TRIGGER thief AFTER INSERT ON plants BEGIN DELETE FROM plants; END');
  const { code, lines } = await diagnose(store);
  assert.match(
    lines['schema'] ?? '',
    /^error the store has the trigger thief on plants, .*DROP TRI/,
  );
  assert.equal(code, 1);
});

test('doctor says that tmpfs is memory, and tells when it is nearly full or read-only', async (t) => {
  const small = mounted(t, 'size=6m');
  if (small === undefined) return;
  const found = await diagnose(join(small, 'plants.db'));
  assert.equal(found.code, 1);
  const says = found.lines['file system'] ?? '';
  assert.match(says, /^warning tmpfs is memory: a power cut loses all plants; name/);
  assert.match(found.lines['free space'] ?? '', /^error 6 MiB are free, 100 % of 6 MiB; make room/);

  assert.equal(spawnSync('mount', ['-o', 'remount,ro', small]).status, 0);
  const readOnly = await diagnose(join(small, 'plants.db'));
  assert.match(readOnly.lines['folder'] ?? '', /^error no files can be made in /);
});

test('doctor warns of a Btrfs, until files in the folder of the store are written in place', async (t) => {
  const folder = mountedBtrfs(t);
  if (folder === undefined) return;
  const says = async () => (await diagnose(join(folder, 'plants.db'))).lines['file system'] ?? '';
  assert.match(
    await says(),
    /^warning Btrfs takes a free block for each write, .*; type chattr \+C/,
  );
  assert.equal(spawnSync('chattr', ['+C', folder]).status, 0);
  assert.match(await says(), /^ok Btrfs, /);
});

test('the service does not start on a network file system, and makes nothing', async (t) => {
  const { statfsSync } = fs;
  const onNfs = (path: string) => ({ ...statfsSync(path), type: 0x6969 });
  t.mock.method(fs, 'statfsSync', onNfs as typeof statfsSync);
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  const store = join(await temporaryFolder(t), 'data/plants.db');
  failed(
    await runHere(['serve', '--port', '0', ...on(store)], { PLANT_STORE_TOKEN: token }),
    /^plant-store: file system: NFS is shared by machines.*; name a store on a local disk with --store\n$/,
  );
  assert(!existsSync(dirname(store)));
  assert.equal((await diagnose(store)).code, 1);
});
