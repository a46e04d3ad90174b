import assert from 'node:assert/strict';
import { mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type { JobRunner } from '../../src/cli/serve/job-runner.ts';
import { openSchedule } from '../../src/cli/serve/schedule.ts';
import { limits } from '../../src/limits.ts';
import type { Log } from '../../src/service/log.ts';
import type { JobRecord } from '../../src/store/jobs.ts';
import { fileLocation } from '../../src/store/location.ts';
import { create, oneThread, startServer, storePath } from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';
import { addPlants } from '../helpers/store-file.ts';

const noLog = {} as Log;

/** A service whose only job is a backup. */
const backups = (folder: string, every = '1h') => [
  ...oneThread,
  ...['--backup-to', folder, '--backup-every', every],
  ...['--scrub-every', 'off', '--drill-every', 'off'],
];

async function metric(opsUrl: string, name: string): Promise<string | undefined> {
  const text = await (await fetch(`${opsUrl}metrics`)).text();
  return text
    .split('\n')
    .find((line) => line.startsWith(name))
    ?.slice(name.length + 1);
}

test('a service makes a backup when one is due, and not before', async (t) => {
  const store = await storePath(t);
  const folder = join(dirname(store), 'backups');
  mkdirSync(folder);
  const first = await startServer(t, store, backups(folder));
  assert.equal((await create(first.plantsUrl, { id: 1, name: 'Alder' })).status, 200);
  await first.logged((stderr) => stderr.includes('"job":"backup"'));
  assert.match(first.stderr(), /"level":"info".*"job":"backup".*"file":".*Z\.db".*"a job is done"/);
  assert.equal(await metric(first.opsUrl, 'plant_store_job_failed{job="backup"}'), '0');
  assert(Number(await metric(first.opsUrl, 'plant_store_job_duration_seconds{job="backup"}')) > 0);
  assert(Number(await metric(first.opsUrl, 'plant_store_job_age_seconds{job="backup"}')) < 60);
  assert.equal(await first.stop(), 0);
  const made = readdirSync(folder).filter((file) => file.endsWith('.db'));
  assert.equal(made.length, 1);

  // The next service knows of the backup, and looks at it a second after its start.
  const second = await startServer(t, store, backups(folder, '3s'));
  await second.logged((stderr) => stderr.includes('"job":"backup"'));
  await second.stop();
  const third = await startServer(t, store, [...backups(folder), '--log-level', 'debug']);
  await third.logged((stderr) => stderr.includes('"no job is due"'));
  assert.equal(await third.stop(), 0);
  assert.doesNotMatch(third.stderr(), /"job":"backup"/);
});

test('a run in the future puts no job off', () => {
  const nowMs = Date.parse('2026-11-23T12:00:00Z');
  const [hourMs, yearMs] = [3_600_000, 365 * 24 * 3_600_000];
  const backup = { name: 'backup', everyMs: hourMs, args: [] } as const;
  const dueInMs = (record: Partial<JobRecord>) => {
    const schedule = openSchedule([], {} as JobRunner, fileLocation('/absent'), noLog, () => nowMs);
    const records = [{ name: 'backup', ranAtMs: nowMs, fault: undefined, ...record } as JobRecord];
    return schedule.dueMs(backup, records) - nowMs;
  };
  const succeeded = (atMs: number) => ({ success: { atMs, tookMs: 1 } });
  assert.equal(dueInMs(succeeded(nowMs - 1_000)), hourMs - 1_000);
  assert(dueInMs(succeeded(nowMs + yearMs)) <= 0);
  assert(dueInMs(succeeded(nowMs - yearMs)) <= 0);
  const failed = (ranAtMs: number) => ({ ranAtMs, fault: 'no room' });
  assert.equal(dueInMs(failed(nowMs - 1_000)), limits.jobs.retryMs - 1_000);
  assert(dueInMs(failed(nowMs + yearMs)) <= 0);
});

test('a last backup in the future is seen in metrics, doctor and the log, and another is made at once', async (t) => {
  const store = await storePath(t);
  const folder = join(dirname(store), 'backups');
  mkdirSync(folder);
  const without = await startServer(t, store, oneThread);
  addPlants(store, 1);
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 400 * 24 * 3_600_000 });
  const flags = ['--store', `sqlite:${store}`];
  assert.equal((await runHere(['backup', folder, '--keep', '1d:1h', ...flags])).code, 0);
  t.mock.timers.reset();
  const { stdout } = await runHere(['doctor', ...flags]);
  assert.match(stdout, /^warning +last backup .*: this time is in the future/m);

  assert(Number(await metric(without.opsUrl, 'plant_store_last_backup_age_seconds')) < 0);
  assert(Number(await metric(without.opsUrl, 'plant_store_job_age_seconds{job="backup"}')) < 0);
  assert.equal(await without.stop(), 0);

  const server = await startServer(t, store, backups(folder));
  await server.logged((stderr) => stderr.includes('"a job is done"'));
  assert.match(server.stderr(), /"level":"warn".*"job":"backup".*is in the future/);
  assert(Number(await metric(server.opsUrl, 'plant_store_last_backup_age_seconds')) >= 0);
  assert.equal(await server.stop(), 0);
});

test('a failed backup does not disturb the service, and is seen in its log, metrics and doctor', async (t) => {
  const store = await storePath(t);
  const folder = join(dirname(store), 'absent');
  const { plantsUrl, opsUrl, logged, stop, stderr } = await startServer(t, store, backups(folder));
  await logged((text) => text.includes('"a job has failed"'));
  assert.match(stderr(), /"level":"error".*"job":"backup".*"fault":"there is no folder .*absent/);
  assert.equal((await create(plantsUrl, { id: 1, name: 'Alder' })).status, 200);
  assert.equal((await fetch(`${opsUrl}readyz`)).status, 200);
  assert.equal(await metric(opsUrl, 'plant_store_job_failed{job="backup"}'), '1');
  assert.equal(await metric(opsUrl, 'plant_store_job_age_seconds{job="backup"}'), undefined);
  const { stdout } = await runHere(['doctor', '--store', `sqlite:${store}`]);
  assert.match(stdout, /^warning +jobs +the last backup \(.*\) has failed: there is no folder/m);
  assert.equal(await stop(), 0);
});

test('a backup that is killed is recorded as failed, and a stopping service ends its backup', async (t) => {
  const store = await storePath(t);
  const folder = join(dirname(store), 'backups');
  mkdirSync(folder);
  // Another process has claimed the folder, so the backup waits.
  const { tryLockFile } = await import('../../src/stores.ts');
  using _ = tryLockFile(join(folder, '.plants.lock'));
  const flags = [...backups(folder), '--log-level', 'debug'];
  const { logged, stop, stderr } = await startServer(t, store, flags);
  await logged((text) => text.includes('"a job has started"'));
  process.kill(childIn(stderr()), 'SIGKILL');
  await logged((text) => text.includes('the process was ended by SIGKILL'));
  assert.equal(await stop(), 0);
  assert.match(
    (await runHere(['doctor', '--store', `sqlite:${store}`])).stdout,
    /ended by SIGKILL/,
  );

  const again = await startServer(t, await storePath(t), flags);
  await again.logged((text) => text.includes('"a job has started"'));
  assert.equal(await again.stop(), 0);
  assert.throws(() => process.kill(childIn(again.stderr()), 0), { code: 'ESRCH' });
});

/** The process of the first job in the log. */
function childIn(stderr: string): number {
  return Number(/"child":([0-9]+)/.exec(stderr)?.[1]);
}
