import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type { BackupList } from '../../src/ops/contract.ts';
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
import { addPlants } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';

/** A service with an operator who has signed in. */
async function startDesk(t: Owner, store: string, args: readonly string[]) {
  const token = await storedToken(store, 'alice', { role: 'operate' });
  const server = await startServer(t, store, [...args, ...oneThread]);
  const signedIn = await fetch(`${server.opsUrl}api/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  const cookie = signedIn.headers.get('Set-Cookie')?.split(';')[0] ?? '';
  const ask = (method: string) =>
    fetch(`${server.opsUrl}api/backups`, { method, headers: { cookie } });

  /** The list as soon as it satisfies the test. */
  async function listWhen(isSo: (list: BackupList) => boolean): Promise<BackupList> {
    for (;;) {
      const now = (await (await ask('GET')).json()) as BackupList;
      if (isSo(now)) return now;
      await pause();
    }
  }
  return { server, ask, listWhen };
}

const manual = ['--backup-every', '1000h'];

test('an operator sees the progress of the first backup, and makes the next one', async (t) => {
  const store = await storePath(t);
  const folder = join(dirname(store), 'backups');
  mkdirSync(folder);
  const lock = tryLockFile(join(folder, '.plants.lock'));
  const { server, ask, listWhen } = await startDesk(t, store, ['--backup-to', folder, ...manual]);
  const waiting = await listWhen(({ running }) => running?.step.startsWith('waiting') === true);
  assert.deepEqual([waiting.running?.operator, waiting.backups, waiting.last], [null, [], null]);
  lock?.[Symbol.dispose]();
  const first = await listWhen(({ backups, running }) => backups.length > 0 && running === null);
  assert.deepEqual([first.folder, first.everySeconds, first.last?.fault], [folder, 3.6e6, null]);
  const hoursLeft = (Date.parse(`${first.dueAt}`) - Date.now()) / 3_600_000;
  assert(hoursLeft > 999.9 && hoursLeft <= 1_000, `${hoursLeft}`);

  assert.equal((await create(server.plantsUrl, { id: 5, name: 'Birch' })).status, 200);
  const begun = await ask('POST');
  assert.equal(begun.status, 202);
  assert.equal(((await begun.json()) as { operator: string }).operator, 'alice');
  const { backups } = await listWhen(
    ({ backups: now, running }) => now[0]?.plants === 1 && !running,
  );
  const [{ file, plants, fault } = assert.fail()] = backups;
  assert.deepEqual([plants, fault], [1, null]);
  await server.logged((stderr) => /"operator":"alice".*"a backup was made"/.test(stderr));

  writeFileSync(join(folder, `${file}.manifest.json`), '{}');
  await server.stop();
  const again = await startDesk(t, await storePath(t), ['--backup-to', folder, ...manual]);
  const damaged = await again.listWhen(({ backups: now }) => now.some((one) => one.fault !== null));
  assert.equal(damaged.backups.find((one) => one.file === file)?.fault, 'the manifest is damaged');
});

test('a folder that cannot be read is a fault of the list, and a failed backup says why', async (t) => {
  const store = await storePath(t);
  const absent = join(dirname(store), 'absent');
  const { listWhen } = await startDesk(t, store, ['--backup-to', absent, ...manual]);
  const { fault, backups, last } = await listWhen(({ last }) => last !== null);
  assert.match(fault ?? '', /^the folder cannot be read \(ENOENT/);
  assert.deepEqual(backups, []);
  assert.match(last?.fault ?? '', /^there is no folder/);
});

test('without --backup-to there is no folder', async (t) => {
  const store = await storePath(t);
  const { listWhen } = await startDesk(t, store, []);
  const list = await listWhen(() => true);
  const nothing = { folder: null, fault: null, keep: null, everySeconds: null, dueAt: null };
  assert.deepEqual(list, { ...nothing, backups: [], leftOut: 0, last: null, running: null });
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
