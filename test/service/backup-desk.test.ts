import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type { BackupList, ListedBackup } from '../../src/ops/contract.ts';
import { tryLockFile } from '../../src/stores.ts';
import { pause } from '../helpers/pause.ts';
import {
  commandLine,
  create,
  type Owner,
  oneThread,
  startServer,
  storePath,
} from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';
import { addPlants } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';

/** A service with a folder for backups, and an operator who has signed in. */
async function startDesk(t: Owner, ...args: string[]) {
  const store = await storePath(t);
  const folder = join(dirname(store), 'backups');
  mkdirSync(folder);
  const secret = await storedToken(store, 'alice', { role: 'operate' });
  const plants = join(dirname(store), 'plants.ndjson');
  const lines = ['Alder', 'Ash', 'Asp', 'Bay', 'Beech'].map((name, id) => ({ id, name }));
  writeFileSync(plants, lines.map((line) => JSON.stringify(line)).join('\n'));
  assert.equal((await runHere(['import', plants, '--store', `sqlite:${store}`])).code, 0);
  const start = async () => {
    const flags = ['--backup-to', folder, ...args, ...oneThread, '--log-level', 'debug'];
    return deskOf(await startServer(t, store, flags), secret);
  };
  return { store, folder, start, ...(await start()) };
}

async function deskOf(server: Awaited<ReturnType<typeof startServer>>, token: string) {
  const json = { 'Content-Type': 'application/json' };
  const signedIn = await fetch(`${server.opsUrl}api/session`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ token }),
  });
  const cookie = signedIn.headers.get('Set-Cookie')?.split(';')[0] ?? '';
  const ask = (method: string, path = '', body?: object) =>
    fetch(`${server.opsUrl}api/backups${path}`, {
      method,
      headers: { cookie, ...(body ? json : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
  const list = async () => (await (await ask('GET')).json()) as BackupList;

  /** The list as soon as it satisfies the test. */
  async function listWhen(isSo: (list: BackupList) => boolean): Promise<BackupList> {
    for (;;) {
      const now = await list();
      if (isSo(now)) return now;
      await pause();
    }
  }
  /** The list after the next end of a job, with what the job has changed. */
  async function afterJob(method: string, path: string, body?: object): Promise<BackupList> {
    const before = (await list()).ended?.endedAt;
    const reply = await ask(method, path, body);
    assert.equal(reply.status, method === 'DELETE' ? 204 : 202, await reply.text());
    return listWhen(({ running, ended }) => running === null && ended?.endedAt !== before);
  }
  return { server, ask, list, listWhen, afterJob };
}

const manual = ['--backup-every', '1000h', '--scrub-every', 'off', '--drill-every', 'off'];

/** The service makes its first backup by itself. */
const firstOf = async ({ listWhen }: Pick<Awaited<ReturnType<typeof startDesk>>, 'listWhen'>) =>
  listWhen(({ backups, running }) => backups.length > 0 && running === null);

const newest = ({ backups }: BackupList): ListedBackup => backups[0] ?? assert.fail('no backup');

test('an operator makes a backup, and downloads exactly its file with its digest', async (t) => {
  const desk = await startDesk(t, ...manual);
  const { server, folder, ask, afterJob } = desk;
  const first = await firstOf(desk);
  assert.equal(first.folder, folder);
  const { plan } = first;
  assert.deepEqual(
    plan.map(({ name, everySeconds }) => [name, everySeconds]),
    [
      ['backup', 3_600_000],
      ['scrub', null],
      ['drill', null],
    ],
  );
  assert.equal(plan[0]?.last?.fault, null);
  const dueMs = Date.parse(plan[0]?.dueAt ?? '') - Date.parse(plan[0]?.last?.succeededAt ?? '');
  assert.equal(dueMs, 3_600_000_000);

  assert.equal((await create(server.plantsUrl, { id: 5, name: 'Birch' })).status, 200);
  const list = await afterJob('POST', '');
  const { file, base, plants, bytes, fault, createdAt, checkedAt } = newest(list);
  assert.deepEqual([base, plants, fault], [newest(first).file, 6, null]);
  assert(Date.parse(checkedAt) > Date.parse(createdAt));
  assert.equal(list.ended?.operator, 'alice');
  assert.equal(list.ended?.outcome, 'done');
  assert.match(server.stderr(), /"job":"backup","operator":"alice".*"a job is done"/);

  const reply = await ask('GET', `/${file}/download`);
  const content = Buffer.from(await reply.arrayBuffer());
  assert(content.equals(readFileSync(join(folder, file))));
  assert.equal(content.length, bytes);
  const digest = createHash('sha256').update(content).digest('base64');
  assert.equal(reply.headers.get('Repr-Digest'), `sha-256=:${digest}:`);
  assert.match(reply.headers.get('Content-Disposition') ?? '', new RegExp(`^attachment;.*${file}`));
  const manifest = await ask('GET', `/${file}.manifest.json/download`);
  assert.equal(await manifest.text(), readFileSync(join(folder, `${file}.manifest.json`), 'utf8'));
  assert.match(server.stderr(), /"operator":"alice","file":.*"a backup is downloaded/);
});

test('a check of a backup tells what it has found, also after a restart', async (t) => {
  const desk = await startDesk(t, ...manual);
  const { folder, afterJob } = desk;
  const made = newest(await firstOf(desk));
  const { file } = made;
  const sound = newest(await afterJob('POST', '/verify', { file }));
  assert.equal(sound.fault, null);
  assert(Date.parse(sound.checkedAt) > Date.parse(made.checkedAt));

  const path = join(folder, file);
  const content = readFileSync(path);
  writeFileSync(path, content.fill(0xff, content.length - 100));
  const damaged = await afterJob('POST', '/verify', { file });
  assert.match(newest(damaged).fault ?? '', /is damaged|differs from its manifest/);
  assert.equal(damaged.ended?.outcome, 'failed');
  await desk.server.stop();

  const again = await desk.start();
  assert.equal(newest(await again.list()).fault, newest(damaged).fault);
  writeFileSync(`${path}.manifest.json`, '{}');
  await again.server.stop();
  const { list } = await desk.start();
  const { plants, fault } = newest(await list());
  assert.deepEqual([plants, fault], [null, 'the manifest is damaged']);
});

test('an operator stops a job, which leaves nothing behind and counts as no failure', async (t) => {
  const desk = await startDesk(t, ...manual);
  const { store, folder, afterJob, listWhen, list } = desk;
  const lock = tryLockFile(join(folder, '.plants.lock'));
  const waiting = await listWhen(({ running }) => running?.step.startsWith('waiting') === true);
  assert.equal(waiting.running?.operator, null);
  const stopped = await afterJob('DELETE', '/running');
  assert.deepEqual([stopped.ended?.outcome, stopped.ended?.fault], ['stopped', null]);
  assert.match(desk.server.stderr(), /"stoppedBy":"alice".*"a job was stopped"/);
  const left = readdirSync(folder).filter((file) => !file.startsWith('.plants.lock'));
  assert.deepEqual(left, []);
  assert.equal((await list()).plan[0]?.last, null);
  lock?.[Symbol.dispose]();
  assert.equal((await afterJob('POST', '')).ended?.outcome, 'done');
  const { stdout } = await runHere(['doctor', '--store', `sqlite:${store}`]);
  assert.doesNotMatch(stdout, /has failed/);
});

test('a folder that cannot be read is a fault of the list, and a failed job says why', async (t) => {
  const store = await storePath(t);
  const secret = await storedToken(store, 'alice', { role: 'operate' });
  const absent = join(dirname(store), 'absent');
  const flags = ['--backup-to', absent, ...manual, ...oneThread];
  const { listWhen } = await deskOf(await startServer(t, store, flags), secret);
  const { fault, backups, plan } = await listWhen(({ ended }) => ended !== null);
  assert.match(fault ?? '', /^the folder cannot be read \(ENOENT/);
  assert.deepEqual(backups, []);
  assert.match(plan[0]?.last?.fault ?? '', /^there is no folder/);
});

test('without --backup-to there is no folder, and what other processes have done is shown', async (t) => {
  const store = await storePath(t);
  const secret = await storedToken(store, 'alice', { role: 'operate' });
  const { ask, list } = await deskOf(await startServer(t, store, oneThread), secret);
  const folder = dirname(store);
  await runHere(['backup', folder, '--keep', '1h:1h', '--store', `sqlite:${store}`]);
  const { plan, ...rest } = await list();
  const nothing = { folder: null, fault: null, keep: null, running: null, ended: null };
  assert.deepEqual(rest, { ...nothing, backups: [], leftOut: 0 });
  assert.deepEqual(
    plan.map(({ name, last }) => [name, last?.fault]),
    [['backup', null]],
  );
  assert.equal((await ask('DELETE', '/running')).status, 204);
});

test('a backup tells the process that has started it how far it is', async (t) => {
  const store = await storePath(t);
  await storedToken(store, 'alice');
  addPlants(store, 60_000, 500);
  const args = ['backup', join(dirname(store), 'copy.db'), '--store', `sqlite:${store}`];
  const [program, rest] = commandLine(...args);
  const child = spawn(program, rest, { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  const units = new Set<string>();
  child.on(
    'message',
    ({ standing }: { standing?: { done: number; total: number; unit: string } }) => {
      if (!standing) return;
      assert(standing.done > 0 && standing.done <= standing.total, JSON.stringify(standing));
      units.add(standing.unit);
    },
  );
  assert.equal(await new Promise((resolve) => child.on('exit', resolve)), 0);
  assert.deepEqual(units, new Set(['bytes', 'plants']));
});
