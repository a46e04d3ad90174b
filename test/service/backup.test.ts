import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  type WatchOptions,
  watch,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { after, type TestContext, test } from 'node:test';
import { readManifest } from '../../src/cli/backup/manifest.ts';
import { run } from '../../src/cli/run.ts';
import { mounted } from '../helpers/mounts.ts';
import { pause } from '../helpers/pause.ts';
import {
  create,
  type Ended,
  type Owner,
  oneThread,
  programInShell,
  startProgram,
  startServer,
  storePath,
  temporaryFolder,
} from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';
import { addToken, alterStore, makeStore, storedPlants } from '../helpers/store-file.ts';

/** A store with the given number of plants and the token `my-app`. */
async function newStore(t: Owner, plants = 3): Promise<string> {
  const path = await storePath(t);
  makeStore(path, plants);
  addToken(path, 'my-app');
  return path;
}

const storeFlag = (path: string) => ['--store', `sqlite:${path}`];
const backUp = (store: string, destination: string) =>
  runHere(['backup', destination, ...storeFlag(store)]);
const restoreTo = (store: string, source: string, ...flags: string[]) =>
  runHere(['restore', source, ...storeFlag(store), ...flags]);

/** A backup of a store with the given number of plants, in a folder of its own. */
async function newBackup(t: Owner, plants = 3): Promise<string> {
  const path = join(await temporaryFolder(t), 'backup.db');
  succeeded(await backUp(await newStore(t, plants), path));
  return path;
}

function succeeded({ code, stdout, stderr }: Ended): string {
  assert.equal(code, 0, stderr);
  return stdout;
}

/** One line for the operator that matches, and nothing else on standard error. */
function failed({ code, stderr }: Ended, line: RegExp): void {
  assert.match(stderr, line);
  assert.match(stderr, /^plant-store: [^\n]+\n$/, 'one line');
  assert.equal(code, 1);
}

/** The figures that a command has printed, by name. */
function figures(stdout: string): Record<string, string> {
  return Object.fromEntries(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ +/)),
  );
}

/** Backups that are only read: one of three plants, and one that takes a command some time. */
const [sound, large] = [await newBackup({ after }), await newBackup({ after }, 100_000)];

function namesIn(folder: string): string[] {
  return readdirSync(folder).sort();
}

function changeByte(path: string, offset: number): void {
  const byte = readFileSync(path).readUInt8(offset);
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.of(byte ^ 1), 0, 1, offset);
  closeSync(file);
}

test('a manifest that is a pipe, or too large, is an error and not read whole', async (t) => {
  const backup = join(await temporaryFolder(t), 'backup.db');
  const manifest = `${backup}.manifest.json`;
  makeStore(backup, 1);
  spawnSync('mkfifo', [manifest]);
  assert.throws(
    () => readManifest(backup),
    /^CommandError: the manifest .* is a pipe and not a regular file$/,
  );
  rmSync(manifest);
  writeFileSync(manifest, '{}');
  truncateSync(manifest, 4 * 1_024 ** 3);
  assert.throws(
    () => readManifest(backup),
    /^CommandError: the manifest .* is larger than 64 KiB$/,
  );
});

test('a backup is one plain file with its manifest beside it, both for their owner only, and verify finds both sound', async (t) => {
  const store = await newStore(t, 0);
  alterStore(
    store,
    `INSERT INTO plants VALUES (-9223372036854775808, 'Ёлка "1"', '', 1, 1), (2, '', NULL, 1, 1), (9223372036854775807, 'Yew', 'Taxus', 1, 0)`,
  );
  const path = join(await temporaryFolder(t), 'backup.db');

  const { code, stdout, stderr } = await backUp(store, path);

  assert.equal(code, 0);
  const places = `It is ${path}, and its manifest ${path}.manifest.json.\n`;
  assert.match(stderr, /^The backup is sound: [1-9][\d,]* plants, \d\S* [KM]iB\. It is /);
  assert(stderr.endsWith(places), stderr);
  assert.deepEqual(namesIn(dirname(path)), ['backup.db', 'backup.db.manifest.json']);
  for (const file of [path, `${path}.manifest.json`])
    assert.equal((statSync(file).mode & 0o777).toString(8), '600');
  assert.deepEqual(storedPlants(path), storedPlants(store));
  using db = new DatabaseSync(path, { readOnly: true });
  assert.equal(db.prepare('PRAGMA journal_mode').get()?.['journal_mode'], 'delete');

  const { checksum: _, ...manifest } = JSON.parse(readFileSync(`${path}.manifest.json`, 'utf8'));
  assert.deepEqual(
    figures(stdout),
    Object.fromEntries(Object.entries(manifest).map(([name, value]) => [name, `${value}`])),
  );
  assert.deepEqual(
    [manifest.plants, manifest.largestId, manifest.bytes],
    [3, '9223372036854775807', statSync(path).size],
  );
  assert.equal(manifest.sha256, createHash('sha256').update(readFileSync(path)).digest('hex'));

  const { createdAt: _at, checkedAt: _found, version: _by, ...held } = figures(stdout);
  assert.deepEqual(figures(succeeded(await runHere(['verify', path]))), held);
  const { bytes: _bytes, sha256: _sha, ...stored } = held;
  assert.deepEqual(figures(succeeded(await runHere(['verify', ...storeFlag(store)]))), stored);
});

test('the digest is that of what plants list prints, also when that is more than a pipe holds', async (t) => {
  const store = await newStore(t, 20_000);
  const { digest } = figures(succeeded(await runHere(['verify', ...storeFlag(store)])));
  const line = `${programInShell} plants list --limit 1000000000 --store "$0" | sha256sum`;
  const { stdout } = spawnSync('bash', ['-c', line, `sqlite:${store}`], {
    encoding: 'utf8',
  });
  assert.equal(stdout, `${digest}  -\n`);
});

test('an empty store can be backed up and restored', async (t) => {
  const backup = await newBackup(t, 0);
  const store = await storePath(t);
  const { plants, largestId } = figures(succeeded(await restoreTo(store, backup)));
  assert.deepEqual([plants, largestId], ['0', 'none']);
});

test('a backup into a folder is named after the store and the time', async (t) => {
  const [store, folder] = [await newStore(t), await temporaryFolder(t)];
  succeeded(await backUp(store, folder));
  const [backup = '', manifest, ...rest] = namesIn(folder);
  assert.match(backup, /^plants-[0-9]{8}T[0-9]{6}Z\.db$/);
  assert.deepEqual([manifest, rest], [`${backup}.manifest.json`, []]);
});

test('a backup never overwrites a file, and does not make a folder', async (t) => {
  const [store, folder] = [await newStore(t), await temporaryFolder(t)];
  for (const [taken, destination] of [
    ['one.db', 'one.db'],
    ['two.db.manifest.json', 'two.db'],
  ] as const) {
    writeFileSync(join(folder, taken), 'mine');
    failed(
      await backUp(store, join(folder, destination)),
      new RegExp(`${taken} exists already, and a backup overwrites no file`),
    );
    assert.equal(readFileSync(join(folder, taken), 'utf8'), 'mine');
  }
  failed(await backUp(store, join(folder, 'missing', 'backup.db')), /there is no folder .*missing/);
  failed(
    await backUp(join(folder, 'missing.db'), join(folder, 'three.db')),
    /there is no store at .*missing\.db/,
  );
  assert.deepEqual(namesIn(folder), ['one.db', 'two.db.manifest.json']);
});

test('a word that lists backups in other tools is refused as the name of a new backup', async (t) => {
  const store = await newStore(t);
  for (const word of ['list', 'ls', 'show', 'status'])
    for (const flags of [[], ['--keep', '24h:1h']]) {
      const { code, stderr } = await runHere(['backup', word, ...storeFlag(store), ...flags]);
      assert.match(
        stderr,
        new RegExp(
          `"plant-store status --backups" lists the backups, and "plant-store backup \\./${word}" makes`,
        ),
      );
      assert.deepEqual([code, existsSync(word)], [2, false]);
    }
  const folder = await temporaryFolder(t);
  mkdirSync(join(folder, 'list'));
  const line = ['list', './show'].map((name) => `${programInShell} backup ${name} --store "$0"`);
  const both = ['-c', line.join(' && '), `sqlite:${store}`];
  const { status, stderr } = spawnSync('bash', both, { cwd: folder, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  assert.deepEqual(
    [namesIn(join(folder, 'list')).length, namesIn(folder)],
    [2, ['list', 'show', 'show.manifest.json']],
  );
});

test('a backup under load holds every plant acknowledged before it began, refuses none, and can be verified', async (t) => {
  const store = await newStore(t, 20_000);
  const { plantsUrl } = await startServer(t, store, oneThread);
  const acknowledged = new Set<bigint>();
  let nextId = 1_000_000;
  let busy = true;
  const client = async () => {
    while (busy) {
      const id = (nextId += 1);
      const reply = await create(plantsUrl, { id, name: 'Alder' });
      assert.equal(reply.status, 200, await reply.text());
      acknowledged.add(BigInt(id));
      await pause();
    }
  };
  const clients = Promise.all(Array.from({ length: 8 }, client));
  clients.catch(() => (busy = false));
  const folder = await temporaryFolder(t);
  for (const name of ['one.db', 'two.db']) {
    const before = [...acknowledged];
    succeeded(await backUp(store, join(folder, name)));
    const during = acknowledged.size - before.length;
    assert(during > 20, `the server had only ${during} creates meanwhile`);
    succeeded(await runHere(['verify', join(folder, name)]));
    succeeded(await runHere(['verify', ...storeFlag(store)]));
    const held = new Set(storedPlants(join(folder, name)).map(([id]) => id));
    assert.deepEqual(
      before.filter((id) => !held.has(id)),
      [],
    );
  }
  busy = false;
  await clients;
});

test('a store restored elsewhere serves: the old token is admitted, a retry is safe, new plants are stored', async (t) => {
  const store = join(await temporaryFolder(t), 'data/plants.db');
  const old = await startServer(t, store, oneThread, {});
  const headers = {
    Authorization: `Bearer ${readFileSync(join(dirname(store), 'first-start.token'), 'utf8').trimEnd()}`,
  };
  assert.equal((await create(old.plantsUrl, { id: 1, name: 'Alder' }, headers)).status, 200);
  const backup = join(await temporaryFolder(t), 'backup.db');
  succeeded(await backUp(store, backup));
  await old.stop('SIGKILL');

  const elsewhere = join(await temporaryFolder(t), 'new/data/plants.db');
  const { code, stderr } = await restoreTo(elsewhere, backup);
  const made = `There was no store at ${elsewhere}; a new store has been made.\n`;
  assert.deepEqual(
    [code, stderr],
    [0, `${made}The store at ${elsewhere} now holds the backup ${backup}.\n`],
  );
  assert.deepEqual(namesIn(dirname(elsewhere)), ['plants.db']);
  assert.equal((statSync(elsewhere).mode & 0o777).toString(8), '600');

  const { plantsUrl } = await startServer(t, elsewhere, oneThread, {});
  for (const id of [1, 2])
    assert.equal((await create(plantsUrl, { id, name: 'Alder' }, headers)).status, 200);
  assert.equal((await create(plantsUrl, { id: 1, name: 'Birch' }, headers)).status, 400);
  assert.deepEqual(
    storedPlants(elsewhere).map(([id]) => id),
    [1n, 2n],
  );
  // As every store, and not as a backup: readers do not hold the service up.
  assert(existsSync(`${elsewhere}-wal`));
});

/** What can happen to a backup, and what verify and restore say then. */
const damages: Record<string, { damage(backup: string): void; says: RegExp }> = {
  'with a byte changed in the name of a plant': {
    damage: (path) => changeByte(path, readFileSync(path).indexOf('xxxxxxxxxx2')),
    says: /backup\.db differs from its manifest: digest \w+ \(found \w+\), sha256 \w+ \(found \w+\)/,
  },
  'with a byte changed in the time of a plant': {
    // Before the name stand the id, which is in the key, and the header of the row; behind the tag,
    // created_at.
    damage: (path) =>
      changeByte(path, readFileSync(path).indexOf('xxxxxxxxxx1odd') + 'xxxxxxxxxx1odd'.length + 1),
    says: /backup\.db differs from its manifest: sha256 \w+ \(found \w+\)/,
  },
  'with a byte changed in the structure of a page': {
    damage: (path) => changeByte(path, 4_096 + 3),
    says: /backup\.db is damaged \(/,
  },
  'with a byte changed in the manifest': {
    damage: (path) =>
      changeByte(
        `${path}.manifest.json`,
        readFileSync(`${path}.manifest.json`).indexOf('createdAt') + 14,
      ),
    says: /the manifest .*backup\.db\.manifest\.json is damaged/,
  },
  'with the manifest of another': {
    damage: (path) => copyFileSync(`${large}.manifest.json`, `${path}.manifest.json`),
    says: /differs from its manifest: plants 100000 \(found 3\), largestId 100000 \(found 3\), digest/,
  },
  'that lacks its end': {
    damage: (path) => truncateSync(path, statSync(path).size - 4_096),
    says: /backup\.db is damaged \(/,
  },
  'that is empty': {
    damage: (path) => truncateSync(path, 0),
    says: /backup\.db is not a plant store/,
  },
  'that has been overwritten by text': {
    damage: (path) => writeFileSync(path, 'Water the alder.\n'.repeat(1_000)),
    says: /backup\.db is not an SQLite database/,
  },
  'that is a database of another program': {
    damage: (path) => alterStore(path, 'PRAGMA application_id = 7'),
    says: /backup\.db is not a plant store/,
  },
  'of a newer schema': {
    damage: (path) => alterStore(path, 'PRAGMA user_version = 99'),
    says: /backup\.db was made by a newer plant-store \(schema 99/,
  },
};

/** A backup like the one given, in a folder of its own. */
async function copyOf(t: TestContext, backup: string): Promise<string> {
  const copy = join(await temporaryFolder(t), 'backup.db');
  for (const end of ['', '.manifest.json']) copyFileSync(backup + end, copy + end);
  return copy;
}

test('a damaged backup is found by verify and refused by restore, which leaves the store as it is', {
  concurrency: 2,
}, async (t) => {
  const cases = Object.entries(damages).map(([what, { damage, says }]) =>
    t.test(`a backup ${what}`, async (t) => {
      const [backup, store] = [await copyOf(t, sound), await newStore(t, 2)];
      damage(backup);

      failed(await runHere(['verify', backup]), says);
      failed(await restoreTo(store, backup, '--overwrite'), says);

      assert.equal(storedPlants(store).length, 2);
      assert.deepEqual(namesIn(dirname(store)), ['plants.db']);
    }),
  );
  await Promise.all(cases);
});

test('no byte of a manifest can change unnoticed', async (t) => {
  const backup = await copyOf(t, sound);
  const path = `${backup}.manifest.json`;
  const { length } = readFileSync(path);
  for (let offset = 0; offset < length; offset += 1) {
    changeByte(path, offset);
    assert.throws(
      () => readManifest(backup),
      { name: 'CommandError', message: /is damaged/ },
      `byte ${offset}`,
    );
    changeByte(path, offset);
  }
  assert.equal(readManifest(backup)?.plants, 3);
});

test('verify tells a store that is damaged, and a missing one', async (t) => {
  const store = await newStore(t, 1_000);
  changeByte(store, 5 * 4_096 + 3);
  failed(
    await runHere(['verify', ...storeFlag(store)]),
    /the store at .*plants\.db is damaged \(.*; restore it from a backup/,
  );
  failed(await runHere(['verify', ...storeFlag(`${store}2`)]), /there is no store at/);
  failed(await runHere(['verify', `${store}2`]), /there is no file .*plants\.db2 to verify/);
});

test('without its manifest a backup is not found good by verify, and restored with a word about it', async (t) => {
  const backup = join(await temporaryFolder(t), 'alone.db');
  copyFileSync(sound, backup);
  const { code, stdout, stderr } = await runHere(['verify', backup]);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^plant-store: .*alone\.db is sound, but without .*manifest\.json it is unknown whether the backup has changed\n$/,
  );
  assert.equal(figures(stdout)['plants'], '3');

  const store = await storePath(t);
  const restored = await restoreTo(store, backup);
  succeeded(restored);
  assert.match(
    restored.stderr,
    /^.*alone\.db has no manifest, and was only checked for damage\.\n/,
  );
  assert.equal(storedPlants(store).length, 3);
});

test('restore refuses the store itself as its source, and what is no file', async (t) => {
  const store = await newStore(t);
  failed(await restoreTo(store, store, '--overwrite'), /is the store itself/);
  failed(
    await restoreTo(store, dirname(store), '--overwrite'),
    /there is no backup with its manifest in the folder .*; name a file/,
  );
  failed(await restoreTo(store, `${store}.absent`), /there is no file .* to restore/);
  assert.equal(storedPlants(store).length, 3);
});

test('restore replaces a store that holds plants only with --overwrite, and keeps it', async (t) => {
  const store = await newStore(t, 2);
  failed(
    await restoreTo(store, sound),
    /holds plants; --overwrite replaces it, and keeps it under another name/,
  );
  assert.equal(storedPlants(store).length, 2);

  const { code, stderr } = await restoreTo(store, sound, '--overwrite');

  assert.equal(code, 0, stderr);
  const [name, kept = '', ...rest] = namesIn(dirname(store));
  assert.deepEqual([name, rest], ['plants.db', []]);
  assert.match(kept, /^plants\.db\.replaced-[0-9]{8}T[0-9]{6}Z$/);
  assert(
    stderr.endsWith(`\nThe replaced store is kept at ${join(dirname(store), kept)}.\n`),
    stderr,
  );
  assert.equal(storedPlants(store).length, 3);

  // The way back.
  succeeded(await restoreTo(join(dirname(store), 'again.db'), join(dirname(store), kept)));
  assert.equal(storedPlants(join(dirname(store), 'again.db')).length, 2);
});

test('restore replaces a store without plants as it is, and one that is no database any more with its logs', async (t) => {
  const [empty, broken] = [await newStore(t, 0), await newStore(t)];
  succeeded(await restoreTo(empty, sound));
  assert.equal(storedPlants(empty).length, 3);

  for (const end of ['', '-wal', '-shm']) writeFileSync(broken + end, 'broken'.repeat(2_000));
  failed(await restoreTo(broken, sound), /is not a plant store/);
  succeeded(await restoreTo(broken, sound, '--overwrite'));
  assert.equal(storedPlants(broken).length, 3);
  const [name, kept = '', ...logs] = namesIn(dirname(broken));
  assert.equal(name, 'plants.db');
  assert.equal(readFileSync(join(dirname(broken), kept), 'utf8'), 'broken'.repeat(2_000));
  assert.deepEqual(logs, [`${kept}-shm`, `${kept}-wal`]);
});

test('restore refuses while a service runs on the store, or on its source, which goes on', async (t) => {
  const [store, other] = [await newStore(t, 0), await newStore(t)];
  const server = await startServer(t, store, oneThread);
  failed(await restoreTo(other, store, '--overwrite'), /is a store in use and not a backup/);
  assert.equal(storedPlants(other).length, 3);
  failed(
    await restoreTo(store, sound),
    /another process has the store at .* open; stop the service/,
  );
  assert.equal((await create(server.plantsUrl, { id: 1, name: 'Alder' })).status, 200);
  failed(
    await restoreTo(store, sound, '--overwrite'),
    /another process has the store at .* open; stop the service/,
  );
  assert.equal((await create(server.plantsUrl, { id: 2, name: 'Alder' })).status, 200);
  assert.equal(await server.stop(), 0);
  assert.deepEqual(storedPlants(store).length, 2);

  succeeded(await restoreTo(store, sound, '--overwrite'));
  const restored = await startServer(t, store, oneThread);
  assert.equal(
    (await create(restored.plantsUrl, { id: 3, name: 'xxxxxxxxxx3', tag: 'odd' })).status,
    200,
  );
  assert.equal(storedPlants(store).length, 3);
});

/**
 * Starts a command and sends it the signal at the `nth` change in the unfinished folder that it
 * makes in `folder`.
 */
async function interrupted(
  t: TestContext,
  args: readonly string[],
  folder: string,
  nth: number,
  signal: NodeJS.Signals,
) {
  const appeared = Promise.withResolvers<string>();
  const watcher = watch(
    folder,
    (_, name) => name?.includes('.unfinished-') && appeared.resolve(join(folder, name)),
  );
  const child = startProgram(args);
  t.after(() => child.kill('SIGKILL'));
  const exit = once(child, 'exit');
  void exit.then(() => appeared.reject(new Error('the command has ended')));
  const unfinished = await appeared.promise;
  watcher.close();
  let changes = 0;
  if (nth === 0) child.kill(signal);
  // The command may have been quicker, and have removed it.
  const whileThere: WatchOptions & { throwIfNoEntry: boolean } = { throwIfNoEntry: false };
  const within =
    nth === 0
      ? undefined
      : watch(unfinished, whileThere, () => (changes += 1) === nth && child.kill(signal));
  const [stderr] = await Promise.all([text(child.stderr), exit]);
  within?.close();
  return { signalCode: child.signalCode, stderr };
}

/** When to send which signal. Later than at the first, the command may have been quicker. */
const moments: readonly (readonly [NodeJS.Signals, number])[] = [
  ['SIGINT', 0],
  ['SIGTERM', 0],
  ['SIGINT', 1],
  ['SIGTERM', 2],
  ['SIGINT', 3],
];

test('a signal ends a backup at once, and leaves nothing of it', { concurrency: 2 }, async (t) => {
  const cases = moments.map(([signal, nth]) =>
    t.test(`${signal} at change ${nth}`, async (t) => {
      const folder = await temporaryFolder(t);
      const { signalCode, stderr } = await interrupted(
        t,
        ['backup', join(folder, 'b.db'), ...storeFlag(large)],
        folder,
        nth,
        signal,
      );
      if (nth > 0 && existsSync(join(folder, 'b.db')))
        return void succeeded(await runHere(['verify', join(folder, 'b.db')]));
      assert.equal(signalCode, signal);
      assert.equal(
        stderr,
        `plant-store: ${signal} has stopped the backup before its end; no backup has been made, and earlier ones are as they were; make it again\n`,
      );
      assert.deepEqual(namesIn(folder), []);
    }),
  );
  await Promise.all(cases);
});

test('a signal ends a restore at once, and leaves the store as it was', {
  concurrency: 2,
}, async (t) => {
  const cases = moments.map(([signal, nth]) =>
    t.test(`${signal} at change ${nth}`, async (t) => {
      const store = await newStore(t, 2);
      const args = ['restore', large, ...storeFlag(store), '--overwrite'];
      const { signalCode, stderr } = await interrupted(t, args, dirname(store), nth, signal);
      const { length } = storedPlants(store);
      if (nth > 0 && length === 100_000) return assert.equal(namesIn(dirname(store)).length, 2);
      assert.equal(signalCode, signal);
      assert.equal(
        stderr,
        `plant-store: ${signal} has stopped the restore before its end; the store at ${store} is as it was; restore again\n`,
      );
      assert.deepEqual(namesIn(dirname(store)), ['plants.db']);
      assert.equal(length, 2);
    }),
  );
  await Promise.all(cases);
});

test('a backup that is killed leaves an unfinished folder only, which is not in the way of the next', async (t) => {
  const folder = await temporaryFolder(t);
  await interrupted(t, ['backup', join(folder, 'b.db'), ...storeFlag(large)], folder, 0, 'SIGKILL');
  const [left = '', ...rest] = namesIn(folder);
  assert.match(left, /^b\.db\.unfinished-/);
  assert.deepEqual(rest, []);
  succeeded(await backUp(large, join(folder, 'b.db')));
  assert.deepEqual(namesIn(folder), ['b.db', 'b.db.manifest.json', left]);
});

test('on a terminal a backup says what it is doing', async (t) => {
  const [store, folder] = [await newStore(t), await temporaryFolder(t)];
  const shown: string[] = [];
  const code = await run(['backup', join(folder, 'b.db'), ...storeFlag(store)], {
    env: {},
    print: () => undefined,
    write: () => undefined,
    input: () => assert.fail(),
    askSecret: () => undefined,
    note: () => undefined,
    showProgress: (doing) => shown.push(doing),
    width: 80,
    errorsWidth: 80,
    errorsHaveColors: true,
    untilSignal: () => new Promise(() => undefined),
    onHangup: () => undefined,
    onOutputFailed: () => undefined,
    onExit: () => undefined,
    untilInterruptedAgain: () => new Promise(() => undefined),
    userId: 1_000,
    exit: () => assert.fail(),
    lowerPriority: () => undefined,
    endBy: () => assert.fail(),
  });
  assert.equal(code, 0);
  assert.deepEqual([...new Set(shown)], ['comparing: 3 plants', 'checking every page', '']);
});

test('a disk that is too small for a backup, or for what is to be restored, is found at once', async (t) => {
  const store = await copyOf(t, sound);
  const folder = mounted(t, 'tmpfs', () => `size=${statSync(store).size - 4_096}`);
  if (folder === undefined) return;
  const says = /the disk is too full: [0-9.]+ [KM]iB are needed in .*, and [0-9.]+ [KM]iB are free/;
  failed(await backUp(store, join(folder, 'b.db')), says);
  failed(await restoreTo(join(folder, 'plants.db'), store), says);
  assert.deepEqual(namesIn(folder), []);
});

test('a disk that becomes full during a backup is an error, and nothing is left behind', async (t) => {
  const store = await newStore(t, 20_000);
  // The pages alone would fit; the journal that SQLite keeps until the last of them is written does
  // not.
  const folder = mounted(t, 'tmpfs', () => `size=${statSync(store).size}`);
  if (folder === undefined) return;
  failed(
    await backUp(store, join(folder, 'b.db')),
    /cannot copy the store to .*b\.db \(.*disk is full/,
  );
  assert.deepEqual(namesIn(folder), []);
});
