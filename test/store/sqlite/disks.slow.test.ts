import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { namesIn } from '../../helpers/backups.ts';
import { makeAuthority, withoutOpenssl } from '../../helpers/certificates.ts';
import { plant, quickHeartbeats, withLimits } from '../../helpers/faults.ts';
import { keepCreating } from '../../helpers/load.ts';
import {
  mountedDisk,
  mountedDrive,
  mountedFailingDisk,
  mountedUnreadable,
} from '../../helpers/mounts.ts';
import { until } from '../../helpers/pause.ts';
import {
  create,
  oneThread,
  runProgram,
  startServer,
  startServerOnNewStore,
  storePath,
  takesNoCode,
  token,
} from '../../helpers/program.ts';
import { done, doneJson, failed, on, refused } from '../../helpers/run-here.ts';
import { addPlants, makeStore, openStoreAt, storedPlants } from '../../helpers/store-file.ts';

test('a store on a disk that cannot be read is not called damaged', async (t) => {
  const sound = await storePath(t);
  makeStore(sound, 5_000);
  const store = mountedUnreadable(t, sound);
  if (store === undefined) return;
  const named = on(store);
  const inOpen = /cannot open the store at .*: EIO: i\/o error, read; .* \(dmesg\)/;
  await refused(inOpen, 'serve', '--port', '0', ...named);
  await refused(/cannot read the store \(EIO: i\/o error, read\)$/m, 'verify', ...named);
  const inRead = /malformed; look for errors of the disk .* \(dmesg\), and verify the store$/m;
  await refused(inRead, 'plants', 'count', '--name-contains', 'z', ...named);
});

/**
 * Makes a small backup on the disk, lets the store grow by some 30 MiB, and makes another backup,
 * which must fail. Meanwhile each create must get 200. The first backup must stay good, and nothing
 * else be left.
 */
async function failsOn(t: TestContext, disk: string, says: RegExp): Promise<void> {
  const path = await storePath(t);
  const { plantsUrl, stop } = await startServer(t, path, oneThread);
  assert.equal((await create(plantsUrl, { id: -1, name: 'Alder' })).status, 200);
  const folder = join(disk, 'backups');
  mkdirSync(folder);
  const args = ['backup', folder, '--keep', '1d:1ms', ...on(path)];
  const { file } = await doneJson(...args);
  const before = namesIn(folder);
  addPlants(path, 300, 100_000);

  const load = keepCreating(plantsUrl, 1);
  failed(await runProgram(args), says);
  await load.stop();
  assert(load.acknowledged.length > 0);
  assert.equal(await stop(), 0);
  assert.deepEqual(namesIn(folder), before);
  await done('verify', file);
  await done('verify', ...on(path));
  await using store = await openStoreAt(path);
  const files = (await store.listBackups()).map((backup) => backup.file);
  assert.deepEqual(files, [file]);
}

test('a full disk of backups fails the backup, and neither the service nor the last good backup', async (t) => {
  const disk = mountedDisk(t, 16 * 2 ** 20);
  if (disk !== undefined) await failsOn(t, disk.at, /full/);
});

test('a disk of backups whose writes fail fails the backup, and neither the service nor the last good backup', async (t) => {
  const disk = mountedFailingDisk(t, 8 * 2 ** 20);
  const says = /cannot (copy the store to|write) .*disk.* \(.*(I\/O error|EIO|ENOSPC).*\)/;
  if (disk !== undefined) await failsOn(t, disk, says);
});

test('while the file system of the store is frozen, operators are answered and SIGTERM is heard; after the thaw, all goes on by itself', {
  skip: takesNoCode,
}, async (t) => {
  const disk = mountedDisk(t, 32 * 2 ** 20);
  if (disk === undefined) return;
  const store = join(disk.at, 'plants.db');
  const patient = [...oneThread, '--commit-timeout', '60s'];
  const server = await startServer(t, store, patient, withLimits(quickHeartbeats));
  const readiness = async () => (await fetch(`${server.opsUrl}readyz`)).text();
  disk.freeze();
  await until(readiness, (says) => says.includes('the last stored test write was'));
  const waiting = create(server.plantsUrl, plant(1));
  assert.equal((await fetch(`${server.opsUrl}livez`)).status, 200);
  assert.equal((await fetch(`${server.opsUrl}metrics`)).status, 200);

  disk.thaw();

  assert.equal((await waiting).status, 200);
  await until(readiness, (says) => says.startsWith('{"ready":true'));

  disk.freeze();
  await until(readiness, (says) => says.includes('the last stored test write was'));
  server.child.kill('SIGTERM');
  await until(readiness, (says) => says.includes('it is shutting down'));
  disk.thaw();
  await once(server.child, 'close');
  assert.equal(server.child.exitCode, 0);
});

test('another program reads, checkpoints and closes the store beside a service under load, and harms nothing', async (t) => {
  const { store, plantsUrl, stop } = await startServerOnNewStore(t);
  const load = keepCreating(plantsUrl, 8, () => undefined);
  for (const checkpoint of ['PASSIVE', 'FULL', 'RESTART', 'TRUNCATE']) {
    const before = load.acknowledged.length;
    {
      using db = new DatabaseSync(store, { timeout: 5_000 });
      assert.equal(db.prepare('PRAGMA integrity_check').get()?.['integrity_check'], 'ok');
      assert(Number(db.prepare('SELECT count(*) AS n FROM plants').get()?.['n']) >= before);
      db.exec(`PRAGMA wal_checkpoint(${checkpoint})`);
      const change = () => db.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE');
      assert.throws(change, /locked/);
    }
    await load.acknowledgedMore(50);
  }
  await load.stop();
  assert.equal(await stop(), 0);
  assert.equal(storedPlants(store).length, load.acknowledged.length);
});

test('while the drive of a certificate and of the backups does not answer, operators are answered, creates are stored, and SIGTERM ends the service', {
  skip: takesNoCode || withoutOpenssl(),
  timeout: 600_000,
}, async (t) => {
  const drive = await mountedDrive(t);
  if (drive === undefined) return;
  const authority = makeAuthority(drive.at, 'authority');
  const ca = readFileSync(authority.root);
  const { certificate, key } = authority.issue('own', ['-addext', 'subjectAltName=IP:127.0.0.1']);
  const folder = join(drive.at, 'backups');
  mkdirSync(folder);
  const server = await startServer(
    t,
    await storePath(t),
    [
      ...[...oneThread, '--backup-to', folder],
      ...['', 'ops-'].flatMap((which) => [
        ...[`--${which}tls-certificate`, certificate, `--${which}tls-key`, key],
      ]),
    ],
    withLimits({
      ...{ tls: { readAgainMs: 100 }, ops: { storeFiguresMs: 20, backupsMs: 20 } },
      schedule: { restMs: 100, lookMs: 100 },
    }),
  );
  const statusOf = async (url: string, body?: object) => {
    const method = body ? 'POST' : 'GET';
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const sent = request(url, { ca, agent: false, method, headers });
    const [reply] = await once(sent.end(body && JSON.stringify(body)), 'response');
    return reply.resume().statusCode;
  };
  await server.logged((log) => log.includes('"a backup was made"'));

  drive.stall();

  await server.logged((log) =>
    /as it is: the disk of .*own.crt, or of its key, does not/.test(log),
  );
  const tasks = `/proc/${server.child.pid}/task`;
  // For a reply of the drive, or for a page that the drive is to read.
  const waiting = (task: string) =>
    /^fuse_|request_wait|folio_wait/.test(readFileSync(`${tasks}/${task}/wchan`, 'utf8'));
  const stalled = async () => {
    await statusOf(`${server.opsUrl}metrics`);
    return readdirSync(tasks).filter(waiting).length;
  };
  // Some of both certificates, the folder and the last backup: a busy machine looks at the others later.
  await until(stalled, (threads) => threads >= 2);
  // More often than there are threads for files.
  for (let id = 1; id <= 12; id += 1) {
    assert.equal(await statusOf(`${server.opsUrl}metrics`), 200);
    assert.equal(await statusOf(server.plantsUrl, plant(id)), 200);
  }
  for (const probe of ['livez', 'readyz'])
    assert.equal(await statusOf(`${server.opsUrl}${probe}`), 200);
  await server.stop();
  assert.equal(server.child.signalCode, 'SIGTERM');
  assert.match(server.stderr(), /"stopped"/);
});
