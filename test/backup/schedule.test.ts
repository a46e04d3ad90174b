import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { constants, getPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openBackups } from '../../src/backup/schedule.ts';
import { retention } from '../../src/cli/flags/values.ts';
import { limits } from '../../src/limits.ts';
import type { BackupList } from '../../src/ops/contract.ts';
import { engineOf, tryLockFile } from '../../src/store/engines.ts';
import { fileLocation } from '../../src/store/location.ts';
import type { Log } from '../../src/telemetry/log.ts';
import { namesIn, newStore } from '../helpers/backups.ts';
import { ask, signIn } from '../helpers/operators.ts';
import { pause, until } from '../helpers/pause.ts';
import { childrenOf, create, oneThread, startServer } from '../helpers/program.ts';
import { done, on } from '../helpers/run-here.ts';
import { alterStore, openStoreAt } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';

const hourMs = 3_600_000;

/** A service that makes backups, and what an operator who has signed in sees of them. */
async function startService(t: TestContext, store: string, folder: string) {
  const token = await storedToken(store, 'alice', { role: 'operate' });
  const flags = ['--backup-to', folder, '--backup-keep', '1d:1ms', ...oneThread];
  const server = await startServer(t, store, flags);
  const cookie = await signIn(server, { token });
  const list = async () => (await ask(server, 'GET api/backups', { cookie })).body as BackupList;
  return {
    ...server,
    list,
    backUp: async () => (await ask(server, 'POST api/backups', { cookie })).status,
    listWhen: (isSo: (list: BackupList) => boolean) => until(list, isSo),
  };
}

async function newFolder(t: TestContext) {
  const store = await newStore(t, 3);
  const folder = join(dirname(store), 'backups');
  mkdirSync(folder);
  return { store, folder };
}

const isIdle = ({ running, last }: BackupList) => running === null && last !== null;

test('a service makes a backup that is due, and another for an operator, and lists both', async (t) => {
  const { store, folder } = await newFolder(t);
  const service = await startService(t, store, folder);
  const first = await service.listWhen(isIdle);
  assert.deepEqual([first.folder, first.fault, first.everySeconds], [folder, null, 3_600]);
  assert.deepEqual([first.last?.fault, first.backups[0]?.plants], [null, 3]);
  assert.equal(Date.parse(`${first.dueAt}`) - Date.parse(`${first.last?.ranAt}`), hourMs);
  await service.logged((text) =>
    /"level":"info".*"file":".*Z\.db".*"a backup was made"/.test(text),
  );

  assert.equal((await create(service.plantsUrl, { id: 5, name: 'Birch' })).status, 200);
  assert.equal(await service.backUp(), 202);
  assert.equal(await service.backUp(), 409);
  assert.equal((await service.list()).running?.operator, 'alice');
  const { backups } = await service.listWhen(isIdle);
  assert.deepEqual(
    backups.map(({ plants, fault }) => [plants, fault]),
    [
      [4, null],
      [3, null],
    ],
  );
  await service.logged((text) => /"operator":"alice".*"a backup was made"/.test(text));
  await done('verify', join(folder, `${backups[0]?.file}`));

  alterStore(store, "UPDATE plants SET name = 'Bizch' WHERE id = 5");
  assert.equal(await service.backUp(), 202);
  const { last, backups: still } = await service.listWhen(isIdle);
  assert.match(`${last?.fault}`, /has 1 changed \(5\); no backup was made/);
  assert.equal(still.length, 2);
  await service.logged((text) =>
    /"level":"error".*1 changed \(5\).*"a backup has failed"/.test(text),
  );
});

test('a failed backup does not disturb the service, and is seen in its log and its list', async (t) => {
  const { store, folder } = await newFolder(t);
  const absent = join(folder, 'absent');
  const service = await startService(t, store, absent);
  const { fault, last, backups } = await service.listWhen(isIdle);
  assert.match(`${fault}`, /^the folder cannot be read \(ENOENT/);
  assert.match(`${last?.fault}`, /^there is no folder .*absent/);
  assert.deepEqual(backups, []);
  await service.logged((text) =>
    /"level":"error".*there is no folder .*"a backup has failed"/.test(text),
  );
  assert.equal((await create(service.plantsUrl, { id: 5, name: 'Birch' })).status, 200);
  assert.equal((await fetch(`${service.opsUrl}readyz`)).status, 200);
  mkdirSync(absent);
  assert.equal(await service.backUp(), 202);
  assert.equal((await service.listWhen(isIdle)).last?.fault, null);
});

/** The process of the backup. */
function childOf(pid: number | undefined): number {
  const [child] = childrenOf(pid);
  // A signal to 0 would reach the tests.
  return child ?? assert.fail('there is no child');
}

test('a backup has a lower priority, may be killed, and ends with the service', async (t) => {
  const { store, folder } = await newFolder(t);
  // Another process works in the folder, so the backup waits.
  using _ = tryLockFile(join(folder, '.plants.lock'));
  const service = await startService(t, store, folder);
  const isUnderWay = ({ running }: BackupList) => running !== null;
  assert.equal((await service.listWhen(isUnderWay)).running?.operator, null);
  const first = childOf(service.child.pid);
  assert.equal(getPriority(first), constants.priority.PRIORITY_BELOW_NORMAL);
  process.kill(first, 'SIGKILL');
  const { last } = await service.listWhen(isIdle);
  assert.equal(last?.fault, 'the process was ended by SIGKILL');

  assert.equal(await service.backUp(), 202);
  await service.listWhen(isUnderWay);
  const second = childOf(service.child.pid);
  assert.equal(await service.stop(), 0);
  assert.throws(() => process.kill(second, 0), { code: 'ESRCH' });
  assert.deepEqual(namesIn(folder), []);
});

test('a backup is due by the last one that the store knows, unless that is in the future, and by the last failure', async (t) => {
  const { store, folder } = await newFolder(t);
  let nowMs = Date.parse('2026-11-23T12:00:00Z');
  const logged: string[] = [];
  const note = (_: object, text: string) => void logged.push(text);
  await using reader = await engineOf(fileLocation(store)).openReader(1_000);
  await using backups = openBackups(
    { folder: join(folder, 'absent'), keep: retention('1d:1h'), everyMs: hourMs },
    fileLocation(store),
    () => reader,
    process.env,
    { info: note, warn: note, error: note } as unknown as Log,
    () => nowMs,
  );
  const dueInMs = async () => Date.parse(`${(await backups.desk.show()).dueAt}`) - nowMs;
  const record = async (finishedAtMs: number) => {
    await using opened = await openStoreAt(store);
    await opened.recordBackup({ file: '/b.db', finishedAtMs, plants: 3, digest: '' });
  };
  assert.equal(await dueInMs(), 0, 'without a backup');
  await record(nowMs - 1_000);
  assert.equal(await dueInMs(), hourMs - 1_000);
  await record(nowMs + 1_000 * hourMs);
  assert.equal(await dueInMs(), 0, 'after a backup in the future');
  await record(nowMs - 2 * hourMs);
  assert.equal(await dueInMs(), 0);

  assert.equal(backups.desk.backUp('alice')?.operator, 'alice');
  while ((await backups.desk.show()).last === null) await pause();
  assert.deepEqual(logged, ['a backup has failed']);
  assert.equal(await dueInMs(), limits.jobs.retryMs, 'after a failure');
  nowMs -= 1_000 * hourMs;
  assert.equal(await dueInMs(), 0, 'after a failure in the future');
});

test('a backup whose manifest is damaged is listed as such', async (t) => {
  const { store, folder } = await newFolder(t);
  await done('backup', folder, ...on(store));
  const [, manifest = ''] = namesIn(folder);
  writeFileSync(join(folder, manifest), '{}');
  const plan = { folder, keep: retention('1d:1h'), everyMs: hourMs };
  const location = fileLocation(store);
  await using reader = await engineOf(location).openReader(1_000);
  await using backups = openBackups(plan, location, () => reader, {}, {} as Log, Date.now);
  const [listed] = (await backups.desk.show()).backups;
  assert.deepEqual([listed?.plants, listed?.fault], [null, 'the manifest is damaged']);
  await done('backup', folder, ...on(store));
});
