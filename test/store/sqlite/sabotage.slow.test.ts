import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import {
  assertEndsByItself,
  assertEndsUnderLoad,
  assertNothingIsLost,
  plant,
  startSabotaged,
  statusAndCode,
} from '../../helpers/faults.ts';
import { pause, until } from '../../helpers/pause.ts';
import { create, createdAtLast, takesNoCode } from '../../helpers/program.ts';
import { runHere } from '../../helpers/run-here.ts';
import { testWith } from '../../helpers/skips.ts';
import { storedPlants, walSalt } from '../../helpers/store-file.ts';

const test = testWith({ skip: takesNoCode });

/** A server of which such a thing is true, and that has not acknowledged the plant 2 in time. */
async function startHanging(t: TestContext, kind: string) {
  const server = await startSabotaged(t, kind, '--commit-timeout', '200ms');
  server.sabotage();
  assert.deepEqual(await statusAndCode(await create(server.plantsUrl, plant(2))), [503, 50301]);
  return server;
}

test('while the folder of the store is shut, creates get 50301 in bounded time; when it is open again, the service goes on', async (t) => {
  const server = await startHanging(t, 'folder is shut after a sync');
  assert.deepEqual(await statusAndCode(await create(server.plantsUrl, plant(3))), [503, 50301]);

  server.heal();

  await createdAtLast(server.plantsUrl, plant(3));
  assert.equal(await server.stop(), 0);
  assertNothingIsLost(server, [1, 2, 3], [1, 3]);
});

test('a create that is stored while the disk does not return from a sync gets 200 when the disk goes on', async (t) => {
  const server = await startSabotaged(t, 'disk hangs', '--commit-timeout', '1m');
  server.sabotage();
  const created = create(server.plantsUrl, plant(2));
  while (storedPlants(server.store).length < 2) await pause();

  server.heal();

  assert.equal((await created).status, 200);
});

test('a service whose folder is shut for good stops with exit code 0, and loses nothing', async (t) => {
  const server = await startHanging(t, 'folder is shut after a sync');

  assert.equal(await server.stop(), 0);

  assertNothingIsLost(server, [1, 2], [1]);
});

test('a service whose disk hangs for good still stops in bounded time, by SIGKILL, and loses nothing', async (t) => {
  const server = await startHanging(t, 'disk hangs for good');

  await server.stop();

  assert.equal(server.child.signalCode, 'SIGKILL');
  assert.match(server.stderr(), /the service does not stop by itself/);
  assertNothingIsLost(server, [1, 2], [1]);
});

test('while a checkpoint waits for its sync, the store takes creates and heartbeats', async (t) => {
  const server = await startSabotaged(t, 'sync of the store hangs');
  server.sabotage();
  const log = `${server.store}-wal`;
  let id = 1;
  // No checkpoint has ended that lets the log begin again.
  while (statSync(log).size < 2 ** 19) {
    id += 1;
    assert.equal((await create(server.plantsUrl, plant(id))).status, 200);
  }
  using db = new DatabaseSync(server.store, { readOnly: true });
  const heartbeat = async () => db.prepare('SELECT beaten_at FROM heartbeat').get()?.['beaten_at'];
  for (let beats = 0; beats < 3; beats += 1) {
    const before = await heartbeat();
    await until(heartbeat, (now) => now !== before);
  }
  server.heal();
  assert.equal(await server.stop(), 0);
});

test('when the thread for checkpoints ends, the service ends as a failure and nothing is lost', async (t) => {
  const server = await startSabotaged(t, 'thread for checkpoints ends');
  server.sabotage();
  await assertEndsUnderLoad(server, /the thread of the store has ended/);
});

test('a checkpoint does not begin the WAL again when its index is removed: another service may have written to it', async (t) => {
  const beginsAgain = async () => {
    const server = await startSabotaged(t, 'index is removed during a checkpoint');
    const before = walSalt(server.store);
    server.sabotage();
    // The last create finds no service.
    for (let id = 2; server.child.exitCode === null; id += 1)
      await create(server.plantsUrl, plant(id)).catch(() => undefined);
    await assertEndsByItself(server, /plants.db is whole again/);
    return walSalt(server.store) !== before;
  };
  // On a busy machine, a commit may have looked at the index just before the removal.
  let tries = 1;
  while (await beginsAgain()) assert((tries += 1) <= 3);
});

test('while an HTTP thread hangs, the service is not ready', async (t) => {
  const server = await startSabotaged(t, 'HTTP thread hangs', '--http-threads', '2');
  const probe = async () => (await fetch(`${server.opsUrl}readyz`)).text();
  server.sabotage();
  await until(probe, (says) => /an HTTP thread has not answered for \d/.test(says));
  server.heal();
  await until(probe, (says) => says.startsWith('{"ready":true'));
});

test('a clock that is set back a year while the service runs changes no outcome', async (t) => {
  const server = await startSabotaged(t, 'clock is a year back');
  const args = ['--store', `sqlite:${server.store}`];
  const made = await runHere(['token', 'create', 'greenhouse', '--expires', '90d', ...args]);
  const authorization = { Authorization: `Bearer ${/ps_[\w-]{43}/.exec(made.stdout)?.[0]}` };
  while ((await create(server.plantsUrl, plant(2), authorization)).status !== 200) await pause();

  server.sabotage();

  assert.equal((await create(server.plantsUrl, plant(2), authorization)).status, 200);
  assert.equal((await create(server.plantsUrl, plant(3), authorization)).status, 200);
  const other = await create(server.plantsUrl, { id: 3, name: 'another' });
  assert.deepEqual(await statusAndCode(other), [400, 40004]);
  assert.equal((await runHere(['token', 'revoke', 'greenhouse', ...args])).code, 0);
  await until(
    () => create(server.plantsUrl, plant(3), authorization),
    ({ status }) => status === 401,
  );
  assert.equal(await server.stop(), 0);
  assertNothingIsLost(server, [1, 2, 3], [1, 2, 3]);
});
