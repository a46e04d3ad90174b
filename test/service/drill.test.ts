import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { manifestPath, manifestText } from '../../src/cli/backup/manifest.ts';
import { mounted } from '../helpers/mounts.ts';
import { pause } from '../helpers/pause.ts';
import { runProgram, startProgram, storePath } from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';
import { makeStore, openStoreAt, storedPlants } from '../helpers/store-file.ts';

interface Setting {
  readonly store: string;
  readonly folder: string;
  /** `--store` of all commands. */
  readonly flags: readonly string[];
}

async function newSetting(t: TestContext, plants = 100): Promise<Setting> {
  const store = await storePath(t);
  makeStore(store);
  await createPlants(store, 1, plants);
  const folder = join(dirname(store), 'backups');
  mkdirSync(folder);
  return { store, folder, flags: ['--store', `sqlite:${store}`] };
}

async function createPlants(path: string, firstId: number, count: number): Promise<void> {
  await using store = await openStoreAt(path);
  const plants = Array.from({ length: count }, (_, index) => {
    return { id: BigInt(firstId + index), name: `plant ${index}`, tag: undefined, createdBy: 0 };
  });
  await store.createPlants(plants);
}

/** @returns the file */
async function backUp({ folder, flags }: Setting): Promise<string> {
  const args = ['backup', folder, '--keep', '1d:1ms', '--json', ...flags];
  const { code, stdout, stderr } = await runHere(args);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout).file;
}

async function lastDrill({ store }: Setting) {
  await using reader = await openStoreAt(store);
  return (await reader.listJobs()).find(({ name }) => name === 'drill');
}

const hidden = (folder: string) => readdirSync(folder).filter((file) => file.startsWith('.'));

test('a drill restores the newest backup, creates a plant in a service on it, and leaves nothing', async (t) => {
  const setting = await newSetting(t);
  const file = await backUp(setting);
  const before = readdirSync(setting.folder);
  const { code, stdout, stderr } = await runProgram(['drill', setting.folder, ...setting.flags], {
    PLANT_STORE_BASE_PATH: '/garden',
    PLANT_STORE_PORT: '1',
  });
  assert.deepEqual(
    [code, stderr],
    [0, `The backup ${file} can be restored, and a service stores plants on it.\n`],
  );
  assert.match(
    stdout,
    /^plants {3}100, as in the manifest\nrestore {2}[0-9.]+ s\nstart {4}[0-9.]+ s\ncreate {3}[0-9.]+ s, and a retry got the same reply\nrecover {2}[0-9.]+ s in all\n$/,
  );
  assert.deepEqual(readdirSync(setting.folder), before);
  assert.equal(storedPlants(setting.store).length, 100);
  const recorded = await lastDrill(setting);
  assert.equal(recorded?.fault, undefined);
  const [, recoverSeconds] = /recover {2}([0-9.]+)/.exec(stdout) ?? [];
  assert.equal(recorded?.success?.tookMs, Math.round(Number(recoverSeconds) * 1_000));
});

test('a drill of an increment restores all plants, in the folder of --scratch', async (t) => {
  const setting = await newSetting(t);
  await backUp(setting);
  await createPlants(setting.store, 1_000, 1);
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 3_600_000 });
  const file = await backUp(setting);
  t.mock.timers.reset();
  assert.match(file, /\.since-/);
  const scratch = dirname(setting.store);
  const before = readdirSync(setting.folder);
  const args = ['drill', setting.folder, '--scratch', scratch, '--json', ...setting.flags];
  const { code, stdout, stderr } = await runHere(args);
  assert.equal(code, 0, stderr);
  const { digest, restoreMs, startMs, createMs, recoverMs, ...rest } = JSON.parse(stdout);
  assert.deepEqual(rest, { file, plants: 101 });
  assert.match(digest, /^[0-9a-f]{64}$/);
  assert.equal(recoverMs, restoreMs + startMs + createMs);
  assert.deepEqual(readdirSync(setting.folder), before);
  assert.deepEqual(hidden(scratch), ['.plants.lock']);
});

for (const [what, spoil, says] of [
  [
    'is damaged',
    (file: string) => {
      const bytes = readFileSync(file);
      bytes[bytes.lastIndexOf('plant 7')] = 'y'.charCodeAt(0);
      writeFileSync(file, bytes);
    },
    /differs from its manifest: .*sha256/,
  ],
  [
    'has a manifest with another digest',
    (file: string) => {
      const { checksum: _, ...manifest } = JSON.parse(readFileSync(manifestPath(file), 'utf8'));
      writeFileSync(manifestPath(file), manifestText({ ...manifest, digest: '0'.repeat(64) }));
    },
    /differs from its manifest: digest 0{64} \(found [0-9a-f]{64}\)/,
  ],
  [
    'has no manifest',
    (file: string) => rmSync(manifestPath(file)),
    /without .*\.manifest\.json it is unknown whether .* has changed/,
  ],
  [
    'is a folder without backups',
    (file: string) => {
      rmSync(file);
      mkdirSync(file);
    },
    /there is no backup with its manifest in the folder/,
  ],
] as const) {
  test(`a drill of a backup that ${what} fails, is recorded, and leaves nothing`, async (t) => {
    const setting = await newSetting(t);
    const file = await backUp(setting);
    spoil(file);
    const before = readdirSync(setting.folder);
    const { code, stdout, stderr } = await runHere(['drill', file, ...setting.flags]);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, says);
    assert.deepEqual(readdirSync(setting.folder), before);
    assert.match((await lastDrill(setting))?.fault ?? '', says);
  });
}

test('a drill that fails at a terminal is not recorded', async (t) => {
  const setting = await newSetting(t);
  await backUp(setting);
  assert.equal((await runHere(['drill', setting.folder, ...setting.flags])).code, 0);
  const recorded = await lastDrill(setting);
  const args = ['drill', dirname(setting.store), ...setting.flags];
  const { code, stderr } = await runHere(args, {}, { errorsWidth: 80 });
  assert.equal(code, 1);
  assert.match(stderr, /there is no backup/);
  assert.deepEqual(await lastDrill(setting), recorded);
});

test('a drill without room, or in a folder that is read-only, says so', async (t) => {
  const setting = await newSetting(t, 30_000);
  await backUp(setting);
  const small = mounted(t, 'tmpfs', () => 'size=1m');
  const readOnly = mounted(t, 'tmpfs', () => 'ro');
  if (small === undefined || readOnly === undefined) return;
  const drillIn = (scratch: string) =>
    runHere(['drill', setting.folder, '--scratch', scratch, ...setting.flags]);
  assert.match((await drillIn(small)).stderr, /the disk is too full: .* are needed in/);
  assert.match(
    (await drillIn(readOnly)).stderr,
    /cannot write .* \(EROFS.*\); name another folder with --scratch\n$/,
  );
  assert.match((await lastDrill(setting))?.fault ?? '', /EROFS/);
});

for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
  test(`after ${signal}, neither a file nor a service of a drill is left${signal === 'SIGKILL' ? ' by the next drill' : ''}`, {
    skip: process.platform === 'linux' ? false : 'the children of a process are read from /proc',
  }, async (t) => {
    const setting = await newSetting(t);
    await backUp(setting);
    const child = startProgram(['drill', setting.folder, ...setting.flags]);
    const printed = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    const started = Promise.withResolvers<void>();
    const watcher = watch(setting.folder, { recursive: true }, (_, name) => {
      if (name?.endsWith('plants.db-wal')) started.resolve();
    });
    await Promise.race([started.promise, printed]);
    watcher.close();
    const service = Number(
      readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim(),
    );
    assert(service > 0);
    child.kill(signal);
    await printed;
    assert.equal(child.signalCode, signal);
    if (signal === 'SIGKILL') {
      const { code, stderr } = await runProgram(['drill', setting.folder, ...setting.flags]);
      assert.equal(code, 0, stderr);
    }
    assert.deepEqual(hidden(setting.folder), ['.plants.lock']);
    while (isRunning(service)) await pause();
  });
}

function isRunning(pid: number): boolean {
  try {
    return !/^[^)]*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
