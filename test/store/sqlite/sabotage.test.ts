import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { noteFailedSyncs } from '../../../src/store/sqlite/failed-sync.ts';
import {
  assertEndsByItself,
  assertEndsUnderLoad,
  assertNothingIsLost,
  plant,
  sabotaging,
  startSabotaged,
  statusAndCode,
} from '../../helpers/faults.ts';
import { pause, until } from '../../helpers/pause.ts';
import {
  create,
  createdAtLast,
  oneThread,
  runProgram,
  startServer,
  storePath,
  takesNoCode,
  temporaryFolder,
} from '../../helpers/program.ts';
import { failed, on, runHere } from '../../helpers/run-here.ts';
import { testWith } from '../../helpers/skips.ts';

/*
 * What happens within a service, each kind once. The slow tests beside this file have the further
 * cases.
 */

const test = testWith({ skip: takesNoCode });

test('while the disk does not return from a sync, creates get 50301 in bounded time, and the service is not ready; when it goes on, so does the service', async (t) => {
  const server = await startSabotaged(t, 'disk hangs', '--commit-timeout', '200ms');
  const probe = async () => (await fetch(`${server.opsUrl}readyz`)).text();
  server.sabotage();
  for (const id of [2, 3])
    assert.deepEqual(await statusAndCode(await create(server.plantsUrl, plant(id))), [503, 50301]);
  await until(probe, (says) => /the last stored test write was \d/.test(says));

  server.heal();

  await createdAtLast(server.plantsUrl, plant(3));
  await until(probe, (says) => says.startsWith('{"ready":true'));
  assert.equal(await server.stop(), 0);
  assertNothingIsLost(server, [1, 2, 3], [1, 3]);
});

test('when a sync of the WAL fails, the service refuses, leaves a note and ends, the next start repairs the store, and a service that finds a note of another ends', async (t) => {
  const server = await startSabotaged(t, 'sync fails');
  server.sabotage();
  assert.deepEqual(await statusAndCode(await create(server.plantsUrl, plant(2))), [503, 50301]);
  await assertEndsByItself(server, /the sync of the WAL has failed/);
  const { code, stderr } = await runHere(['verify', ...on(server.store)]);
  assert.deepEqual([code, /a sync of the WAL has failed/.test(stderr)], [1, true], stderr);

  const next = await startServer(t, server.store, oneThread);

  assert.match(next.stderr(), /a sync had failed; the disk again has everything/);
  assertNothingIsLost(server, [1, 2], [1]);
  noteFailedSyncs(server.store, ['WAL']);
  await once(next.child, 'exit');
  assert.equal(next.child.exitCode, 1);
});

test('when the thread for checkpoints throws, the service ends as a failure and nothing is lost', async (t) => {
  const server = await startSabotaged(t, 'thread for checkpoints throws');
  server.sabotage();
  await assertEndsUnderLoad(server, /thrown by the test/);
});

for (const kind of ['HTTP thread ends', 'HTTP thread ends with the lock'])
  test(`when an ${kind}, the service ends with exit code 1, and no other thread waits for it`, async (t) => {
    const server = await startSabotaged(t, kind, '--http-threads', '2');
    server.sabotage();
    const clients = Array.from({ length: 8 }, async (_, client) => {
      for (;;) await create(server.plantsUrl, plant(2 + client));
    });
    await Promise.allSettled(clients);
    await assertEndsByItself(server, /an HTTP thread has ended|a thread has ended during a/);
  });

test('a service that is stopped before its thread has opened the store waits for the thread', async (t) => {
  const folder = await temporaryFolder(t);
  const flag = join(folder, 'sabotage');
  writeFileSync(flag, '');
  const variables = sabotaging('thread of the store begins late', flag);
  const server = await startServer(t, join(folder, 'plants.db'), oneThread, variables);
  const ended = server.stop();
  await until(
    () => fetch(server.opsUrl).catch(() => undefined),
    (reply) => reply === undefined,
  );
  for (let looks = 0; looks < 20; looks += 1) {
    await pause();
    assert.equal(server.child.exitCode, null);
  }
  rmSync(flag);
  assert.equal(await ended, 0);
});

test('a start that fails in a thread says so in one line', async (t) => {
  const args = ['serve', '--port', '0', ...on(await storePath(t))];
  failed(await runProgram(args, sabotaging('store is locked for threads')), /: locked\n$/);
});
