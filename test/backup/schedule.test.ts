import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { constants, getPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openBackups } from '../../src/backup/schedule.ts';
import { retention } from '../../src/cli/flags/values.ts';
import { limits } from '../../src/limits.ts';
import type { BackupList, Overview } from '../../src/ops/contract.ts';
import { engineOf, tryLockFile } from '../../src/store/engines.ts';
import { fileLocation } from '../../src/store/location.ts';
import type { Log } from '../../src/telemetry/log.ts';
import { namesIn } from '../helpers/backups.ts';
import { ask, signIn, untilReady } from '../helpers/operators.ts';
import { pause, until } from '../helpers/pause.ts';
import { childrenOf, create, oneThread, startServer } from '../helpers/program.ts';
import { done, on, runHere } from '../helpers/run-here.ts';
import { alterStore, newStore, openStoreAt } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';

const hourMs = 3_600_000;

async function newFolder(t: TestContext) {
  const store = await newStore(t, 3);
  const folder = join(dirname(store), 'backups');
  mkdirSync(folder);
  return { store, folder };
}

/** The process of the backup. */
function childOf(pid: number | undefined): number {
  const [child] = childrenOf(pid);
  // A signal to 0 would reach the tests.
  return child ?? assert.fail('there is no child');
}

test('a service makes a backup that is due, and others for an operator, in a process that may fail and be killed, and that ends with the service', async (t) => {
  const store = await newStore(t, 3);
  const folder = join(dirname(store), 'backups');
  const token = await storedToken(store, 'alice', { role: 'operate' });
  const flags = ['--backup-to', folder, '--backup-keep', '1d:1ms', ...oneThread];
  const server = await startServer(t, store, flags);
  const cookie = await signIn(server, { token });
  const list = async () => (await ask(server, 'GET api/backups', { cookie })).body as BackupList;
  const listWhen = (isSo: (list: BackupList) => boolean) => until(list, isSo);
  const isIdle = ({ running, last }: BackupList) => running === null && last !== null;
  const isUnderWay = ({ running }: BackupList) => running !== null;
  const backUp = async () => (await ask(server, 'POST api/backups', { cookie })).status;

  const due = await listWhen(isIdle);
  assert.match(`${due.fault}`, /^the folder cannot be read \(ENOENT/);
  assert.match(`${due.last?.fault}`, /^there is no folder .*backups/);
  assert.deepEqual([due.folder, due.everySeconds, due.backups], [folder, 3_600, []]);
  await server.logged((text) =>
    /"level":"error".*there is no folder .*"a backup has failed"/.test(text),
  );
  assert.equal((await create(server.plantsUrl, { id: 5, name: 'Birch' })).status, 200);
  await untilReady(server);

  mkdirSync(folder);
  assert.equal(await backUp(), 202);
  const made = await listWhen(isIdle);
  assert.deepEqual([made.fault, made.last?.fault, made.backups.length], [null, null, 1]);
  assert.deepEqual([made.backups[0]?.plants, made.backups[0]?.fault], [4, null]);
  assert.equal(Date.parse(`${made.dueAt}`) - Date.parse(`${made.last?.ranAt}`), hourMs);
  await server.logged((text) =>
    /"level":"info".*"operator":"alice".*"file":".*Z\.db".*"a backup was made"/.test(text),
  );
  await done('verify', join(folder, `${made.backups[0]?.file}`));

  alterStore(store, "UPDATE plants SET name = 'Bizch' WHERE id = 5");
  assert.equal(await backUp(), 202);
  const { last, backups } = await listWhen(isIdle);
  assert.match(`${last?.fault}`, /has 1 changed \(5\); no backup was made/);
  assert.equal(backups.length, 1);
  await server.logged((text) =>
    /"level":"error".*1 changed \(5\).*"a backup has failed"/.test(text),
  );

  // Another process works in the folder, so a backup waits.
  using _ = tryLockFile(join(folder, '.plants.lock'));
  assert.equal(await backUp(), 202);
  assert.equal(await backUp(), 409);
  assert.equal((await list()).running?.operator, 'alice');
  const first = childOf(server.child.pid);
  assert.equal(getPriority(first), constants.priority.PRIORITY_BELOW_NORMAL);
  process.kill(first, 'SIGKILL');
  const killed = await listWhen(isIdle);
  assert.equal(killed.last?.fault, 'the process was ended by SIGKILL');

  assert.equal(await backUp(), 202);
  await listWhen(isUnderWay);
  const second = childOf(server.child.pid);
  assert.equal(await server.stop(), 0);
  assert.throws(() => process.kill(second, 0), { code: 'ESRCH' });
  assert.equal(namesIn(folder).length, 2);
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
  const dueInMs = async () => Date.parse(`${(await backups.control.show()).dueAt}`) - nowMs;
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

  assert.equal(backups.control.backUp('alice')?.operator, 'alice');
  while ((await backups.control.show()).last === null) await pause();
  assert.deepEqual(logged, ['a backup has failed']);
  assert.equal(await dueInMs(), limits.schedule.retryMs, 'after a failure');
  await record(nowMs - 1);
  assert.equal(await dueInMs(), limits.schedule.retryMs, 'after a failure that is newer');
  await record(nowMs + 1);
  nowMs += 1;
  assert.equal(await dueInMs(), hourMs, 'after a backup that is newer than a failure');
  nowMs -= 1_000 * hourMs;
  assert.equal(await dueInMs(), 0, 'after a failure in the future');
});

test('a service whose folder for backups is away says so at its start, before a backup is due', async (t) => {
  const { store, folder } = await newFolder(t);
  await done('backup', folder, ...on(store));
  const away = `${folder}.away`;
  const token = await storedToken(store, 'alice', { role: 'operate' });
  const server = await startServer(t, store, ['--backup-to', away, ...oneThread]);
  await server.logged((text) =>
    /"level":"error".*the folder cannot be read \(ENOENT.*\.away".*"a backup has failed"/.test(
      text,
    ),
  );
  const cookie = await signIn(server, { token });
  const { attention } = (await ask(server, 'GET api/overview', { cookie })).body as Overview;
  assert.match(JSON.stringify(attention), /"error","says":"The last backup failed .*\.away"/);
  const metrics = await (await fetch(`${server.opsUrl}metrics`)).text();
  assert.match(metrics, /^plant_store_backup_failed 1$/m);
  assert.equal((await create(server.plantsUrl, { id: 5, name: 'Birch' })).status, 200);
  const { code, stdout } = await runHere(['doctor', '--backup-to', away, ...on(store)]);
  assert.match(
    stdout,
    /^error +backups +backups go to .*\.away, which is no folder that .*; make /m,
  );
  assert.equal(code, 1);
  const there = await runHere(['doctor', '--backup-to', folder, ...on(store)]);
  assert.match(there.stdout, /^ok +backups +backups go to .*backups$/m);
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
  const [listed] = (await backups.control.show()).backups;
  assert.deepEqual([listed?.plants, listed?.fault], [null, 'the manifest is damaged']);
  await done('backup', folder, ...on(store));
});
