import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { pause } from '../helpers/pause.ts';
import {
  create,
  oneThread,
  startServer,
  startServerOnNewStore,
  storePath,
  temporaryFolder,
  token,
} from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';
import { alterStore } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';

const store = await storePath({ after });
const location = `sqlite:${store}`;
const flags = [...oneThread, '--queue-limit', '5000'];
const before = await startServer({ after }, store, flags);
for (const name of ['Alder', 'Alder', 'Ash']) await create(before.plantsUrl, { id: 1, name });
// The last minute of a service is written when it stops.
await before.stop();
const server = await startServer({ after }, store, flags, {
  PLANT_STORE_TOKEN: token,
  PLANT_STORE_BODY_LIMIT: '2048',
});
await create(server.plantsUrl, { id: 2 });

const status = (...args: string[]) =>
  runHere(['status', '--store', location, '--ops-port', new URL(server.opsUrl).port, ...args]);

test('status counts creates and refusals of this service, and of all services in 24 hours', async () => {
  const { code, stdout, stderr } = await status('--json');
  assert.deepEqual([code, stderr], [0, '']);
  const report = JSON.parse(stdout);
  const none = { lastMinute: 0, lastHour: 0, last24Hours: 0, total: 0 };
  const ofBefore = { ...none, lastHour: 1, last24Hours: 1 };
  assert.deepEqual(report.creates, [
    { outcome: 'created', ...ofBefore },
    { outcome: 'same', ...ofBefore },
    { outcome: 'taken', ...ofBefore },
    { outcome: 'failed', ...none },
  ]);
  assert.deepEqual(report.refusals, [
    { code: 40001, lastMinute: 1, lastHour: 1, last24Hours: 1, total: 1 },
    { code: 40004, ...ofBefore },
  ]);
  assert(report.starts.length >= 1 && report.slowestMinute.p99Ms > 0);
  assert.deepEqual([report.ready, report.store.wholeLocation], [true, location]);
  assert(!('schedule' in report));
});

test('status is a page of text for people', async () => {
  const { stdout } = await status();
  for (const line of [
    /^ok {7}writes {3}the store takes writes /m,
    /^started {13}\d{4}-\d\d-\d\dT[\d:.]+Z, \d+ s ago$/m,
    /^starts in 24 hours {2}\d{4}-\d\d-\d\dT\d\d:\d\dZ/m,
    /^slowest minute {6}\d{4}-\d\d-\d\dT\d\d:\d\dZ, p99 [\d.]+ ms$/m,
    /^created +0 +1 +1 +0$/m,
    /^ {2}40001 +1 +1 +1 +1 {2}\S/m,
    /^ {2}40004 +0 +1 +1 +0 {2}id taken$/m,
    /^schedule {12}none; a service with --backup-to FOLDER makes backups$/m,
    /^LAST HOUR and 24 HOURS count all services, also before the start\. /m,
  ])
    assert.match(stdout, line);
});

test('status --settings prints what is in force, and where the value is from', async () => {
  const { code, stdout } = await status('--settings');
  assert.equal(code, 0);
  assert.match(stdout, /^--queue-limit +5000 +flag +10000 +5000$/m);
  assert.match(stdout, /^--body-limit +2048 +PLANT_STORE_BODY_LIMIT +1048576 +2048$/m);
  assert.match(stdout, /^--connection-limit +\d+ +default +auto$/m);
  const lines = (await status('--settings', '--json')).stdout.trim().split('\n');
  const settings = lines.map((line) => JSON.parse(line));
  assert.deepEqual(
    settings.find(({ name }) => name === 'queue-limit'),
    { name: 'queue-limit', value: '5000', default: '10000', source: 'flag' },
  );
  assert.equal(settings.find(({ name }) => name === 'body-limit').source, 'variable');
});

test('status --hours prints the hours of the history', async () => {
  const { stdout } = await status('--hours');
  assert.match(stdout, /^HOUR +CREATED +WORST P99 MS +40001 +40004 +REFUSED CLIENTS +SERVICE$/m);
  const lines = (await status('--hours', '--json')).stdout.trim().split('\n');
  const hours = lines.map((line) => JSON.parse(line));
  const sum = (name: string) => hours.reduce((total, hour) => total + hour[name], 0);
  assert.deepEqual([sum('created'), sum('same'), sum('refused')], [1, 1, 2]);
  const noBackups = await status('--backups');
  assert.deepEqual([noBackups.code, noBackups.stdout], [0, '']);
  assert.match(noBackups.stderr, /^The service has no folder for backups; /);
  const both = await status('--hours', '--settings');
  assert.equal(both.code, 2);
});

test('status --hours and status --tokens tell of one client', async () => {
  const { stdout } = await status('--hours', '--token', 'environment');
  assert.match(stdout, /^HOUR +REFUSED +40001 +40004 +SERVICE\n20\S+Z +[12] +[01] +[01]\n/);
  const lines = (await status('--hours', '--token', 'environment', '--json')).stdout.trim();
  const hours = lines.split('\n').map((line) => JSON.parse(line));
  assert.deepEqual(
    hours.flatMap(({ refusals }) => refusals).sort((one, other) => one.code - other.code),
    [40001, 40004].map((code) => ({ code, count: 1 })),
  );
  assert.deepEqual(Object.keys(hours[0]), [
    'at',
    'minutes',
    'minutesWithout',
    'refused',
    'refusals',
  ]);
  assert.match((await status('--tokens', '--token', 'import')).stderr, /had never|has never had/);
  const alone = await status('--token', 'environment');
  assert.deepEqual([alone.code, alone.stdout], [2, '']);
  assert.match(alone.stderr, /--token needs --hours or --tokens/);
});

test('status --tokens prints what each client has created and was refused', async () => {
  // A thread tells once a second what it has counted.
  while (!/fixed token/.test((await status('--tokens')).stdout)) await pause();
  const { stdout, stderr } = await status('--tokens');
  assert.match(
    stdout,
    /^environment +fixed token +\d+ s ago +0 +0 +1( +[012]){3} +40001: 1 +40001: \d{4}-\S+Z/m,
  );
  assert.match(
    stderr,
    /^The figures count this service since its start, \d{4}-.*Z\. REFUSED 1m \(the last whole minute\), 1h and 24h count /m,
  );
  const [line = ''] = (await status('--tokens', '--json')).stdout.split('\n');
  const { lastUsedAt, refusals24Hours, ...figures } = JSON.parse(line);
  const { refused24Hours, refusedLastHour, refusedLastMinute, ...sinceStart } = figures;
  assert.deepEqual([refusedLastHour, refused24Hours], [2, 2]);
  assert(refusedLastMinute <= 2);
  const { count, firstAt } = refusals24Hours.find(({ code }: { code: number }) => code === 40001);
  assert.equal(count, 1);
  assert(Date.now() - Date.parse(firstAt) < 300_000, firstAt);
  assert(Date.parse(lastUsedAt) > 0);
  assert.deepEqual(sinceStart, {
    ...{ name: 'environment', state: 'fixed token', created: 0, same: 0, taken: 0, failed: 0 },
    ...{ refused: 1, refusals: [{ code: 40001, count: 1 }] },
  });
});

test('status names a client whose secret has ended', async () => {
  const secret = await storedToken(store, 'last-year', { validMs: 1 });
  const { status: refused } = await create(
    server.plantsUrl,
    { id: 3, name: 'Elm' },
    { Authorization: `Bearer ${secret}` },
  );
  assert.equal(refused, 401);
  const line =
    /^secret has ended +last-year: 1 refused since the start with a revoked or expired secret, the last at \d{4}-\S+Z\ntheir refusals +"plant-store tail --token NAME --store sqlite:\S+"$/m;
  while (!line.test((await status()).stdout)) await pause();
  const { stdout } = await status('--tokens');
  assert.match(stdout, /^last-year +expired +- +0 +0 +1( +[01]){3} +40101: 1 +40101: \S+Z$/m);
});

test('status --tokens counts the refusals of 24 hours once for a name with two secrets', async () => {
  const old = await storedToken(store, 'kiosk');
  const rotate = ['token', 'rotate', 'kiosk', '--store', location];
  const rotated = (await runHere(rotate)).stdout.trim();
  for (const secret of [old, rotated])
    await create(server.plantsUrl, { id: 4 }, { Authorization: `Bearer ${secret}` });
  const both =
    /^kiosk +rotated .* 1( +-){3} +40001: 1\n(?:.*\n)*?kiosk +valid .* 1 +[012] +2 +2 +40001: 1 +40001: \S+Z$/m;
  while (!both.test((await status('--tokens')).stdout)) await pause();
  const { stdout } = await status('--tokens', '--json');
  const [before, now] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter(({ name }) => name === 'kiosk');
  assert(before.createdAt <= now.createdAt, stdout);
  assert.deepEqual(['refused24Hours' in before, now.refused24Hours], [false, 2]);
});

test('status tells which jobs are due, how their last runs went, and what runs now', async (t) => {
  const path = await storePath(t);
  const folder = await temporaryFolder(t);
  const { tryLockFile } = await import('../../src/stores.ts');
  // The first backup waits for the folder.
  const lock = tryLockFile(join(folder, '.plants.lock'));
  const jobs = ['--backup-every', '100h', '--drill-every', 'off', '--log-level', 'debug'];
  const own = await startServer(t, path, [...oneThread, '--backup-to', folder, ...jobs]);
  const there = ['--store', `sqlite:${path}`, '--ops-port', new URL(own.opsUrl).port];
  const statusOf = async (...args: string[]) =>
    (await runHere(['status', ...there, ...args])).stdout;

  await own.logged((stderr) => stderr.includes('"a job has started"'));
  const during = await statusOf();
  for (const line of [
    new RegExp(`^backups to +${folder}$`, 'm'),
    /^backups kept +by --backup-keep 1d:1h,30d:1d,1y:1w$/m,
    /^runs now +backup: .+, since 20\S+Z, \d+ s ago$/m,
    /^next backup +it runs now, every 100 h; it has not run yet$/m,
    /^next scrub +after the first backup, every 7 days; it has not run yet$/m,
    /^next drill +turned off; it has not run yet$/m,
  ])
    assert.match(during, line);
  assert.equal(JSON.parse(await statusOf('--json')).schedule.running.job, 'backup');

  lock?.[Symbol.dispose]();
  await own.logged((stderr) => stderr.includes('"a job is done"'));
  while (/^next backup +it runs now/m.test(await statusOf())) await pause();
  assert.match(
    await statusOf(),
    /^next backup +20\S+Z, in 4 days, every 100 h; the last success was 20\S+Z, \d+ s ago, and took \d\S* s$/m,
  );
  await create(own.plantsUrl, { id: 5, name: 'Oak' });
  while (!/^last backup .*, 0 plants, 1 created since, at /m.test(await statusOf())) await pause();
  const columns = /^FILE +MADE +KIND +PLANTS +SIZE +CHECKED +FOUND +MADE AT +CHECKED AT\n/;
  while (!columns.test(await statusOf('--backups'))) await pause();
  assert.match(
    await statusOf('--backups'),
    /^plants\S*\.db +\d+ s ago +full +0 +\S+ \S+ +\d+ s ago +sound( +20\d\d-\S+Z){2}$/m,
  );
  const onTerminal = await runHere(['status', ...there, '--backups'], {}, { width: 80 });
  assert.match(onTerminal.stdout, / +FOUND\n/);
  const { fault, kind, plants } = JSON.parse(await statusOf('--backups', '--json'));
  assert.deepEqual([fault, kind, plants], [undefined, 'full', 0]);
  const { schedule, backup: last } = JSON.parse(await statusOf('--json'));
  assert.equal(last.isFileGone, false);
  assert.deepEqual([schedule.folder, schedule.keep], [folder, '1d:1h,30d:1d,1y:1w']);
  const [backup, scrub, drill] = schedule.plan;
  assert.deepEqual(
    [backup.everySeconds, backup.last.name, scrub.name, drill],
    [360_000, 'backup', 'scrub', { name: 'drill' }],
  );

  const other = join(await temporaryFolder(t), 'other.db');
  assert.equal((await runHere(['backup', other, '--store', `sqlite:${path}`])).code, 0);
  while (JSON.parse(await statusOf('--json')).backup.file !== other) await pause();
  await rm(other);
  while (JSON.parse(await statusOf('--json')).backup.file !== last.file) await pause();

  await rm(last.file);
  const isGone = /^last backup .*, at \S+\.db: the file is no longer there$/m;
  while (!isGone.test(await statusOf())) await pause();
});

test('status tells of a service that was not stopped, and of none that was', async (t) => {
  const path = await storePath(t);
  await (await startServer(t, path, oneThread)).stop();
  alterStore(
    path,
    `UPDATE history SET minute_at = minute_at - 600000;
    INSERT INTO history (minute_at, node, started_at, created, same, taken, failed, refused,
      queue_plants, connections, stopped_at)
    SELECT unixepoch() / 60 * 60000 - 600000, 7, 1795000000000, 0, 0, 0, 0, 0, 0, 0, 0`,
  );
  const own = await startServer(t, path, oneThread);
  const { port } = new URL(own.opsUrl);
  const args = ['status', '--store', `sqlite:${path}`, '--ops-port', port];
  const { stdout } = await runHere(args);
  assert.match(stdout, /^ended +by a crash, a kill or a power cut, after 20\S+Z$/m);
  const { crashes } = JSON.parse((await runHere([...args, '--json'])).stdout);
  assert.equal(crashes.length, 1);
  assert.equal(crashes[0].startedAt, new Date(1_795_000_000_000).toISOString());
});

test('status says why a job has failed', async (t) => {
  const path = await storePath(t);
  const absent = join(await temporaryFolder(t), 'absent');
  const own = await startServer(t, path, [...oneThread, '--backup-to', absent]);
  await own.logged((stderr) => stderr.includes('"a job has failed"'));
  const { port } = new URL(own.opsUrl);
  const { stdout } = await runHere(['status', '--store', `sqlite:${path}`, '--ops-port', port]);
  assert.match(stdout, /^failed backup +20\S+Z, \d+ s ago: there is no folder .*absent/m);
  assert.match(stdout, /^next backup +20\S+Z, in \d+ min, every 1 h; it has never succeeded$/m);
  assert.match(stdout, /^backups to +\S+absent: /m);
});

test('status tells the checks of a service whose store takes no sign-in', async (t) => {
  const own = await startServerOnNewStore(t, ...oneThread);
  const isReady = async () => (await fetch(`${own.opsUrl}readyz`)).ok;
  while (!(await isReady())) await pause();
  // Another program holds the lock for writing.
  using other = new DatabaseSync(own.store);
  other.exec('BEGIN IMMEDIATE');
  while (await isReady()) await pause();
  const { port } = new URL(own.opsUrl);
  const args = ['status', '--store', `sqlite:${own.store}`, '--ops-port', port];
  const { code, stdout, stderr } = await runHere(args);
  assert.equal(code, 1);
  assert.match(stdout, /^error {4}writes /m);
  assert.match(stderr, /^plant-store: [^\n]+\n$/);
});

test('status of a service that does not answer, or has another store, is an error', async (t) => {
  const other = await storePath(t);
  await (await startServer(t, other, oneThread)).stop();
  const { port } = new URL(server.opsUrl);
  const wrong = await runHere(['status', '--store', `sqlite:${other}`, '--ops-port', port]);
  assert.equal(wrong.code, 1);
  assert.equal(wrong.stdout, '');
  assert.match(wrong.stderr, /the service has another store/);
  const off = await runHere(['status', '--ops-port', 'off']);
  assert.match(off.stderr, /^plant-store: --ops-port off leaves no port to ask for the status\n$/);
});
