import assert from 'node:assert/strict';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { assertEndsByItself, plant, sabotaging, statusAndCode } from '../../helpers/faults.ts';
import { pause, until } from '../../helpers/pause.ts';
import {
  create,
  createdAtLast,
  oneThread,
  runProgram,
  type ServerWithStore,
  startServer,
  storePath,
  takesNoCode,
  temporaryFolder,
} from '../../helpers/program.ts';
import { failed, on, runHere } from '../../helpers/run-here.ts';
import { testWith } from '../../helpers/skips.ts';
import { storedPlants, walSalt } from '../../helpers/store-file.ts';

const test = testWith({ skip: takesNoCode });

/** A server on a new store that can be sabotaged from within. @see ../helpers/sabotage.ts */
async function startSabotaged(t: TestContext, kind: string, ...args: string[]) {
  const folder = await temporaryFolder(t);
  const store = join(folder, 'plants.db');
  const flag = join(folder, 'sabotage');
  const variables = sabotaging(kind, flag);
  const server = await startServer(t, store, [...oneThread, ...args], variables);
  await createdAtLast(server.plantsUrl, plant(1));
  return { ...server, store, sabotage: () => writeFileSync(flag, ''), heal: () => rmSync(flag) };
}

/** A server whose disk hangs, by default, and that has not acknowledged the plant 2 in time. */
async function startHanging(t: TestContext, kind = 'disk hangs') {
  const server = await startSabotaged(t, kind, '--commit-timeout', '200ms');
  server.sabotage();
  assert.deepEqual(await statusAndCode(await create(server.plantsUrl, plant(2))), [503, 50301]);
  return server;
}

/**
 * Asks the file before a client retries, since a retry stores again what was lost. A create whose
 * reply was lost may be stored.
 */
async function assertNothingIsLost(
  t: TestContext,
  { store }: ServerWithStore,
  sent: readonly number[],
  acknowledged: readonly number[],
): Promise<void> {
  const again = await startServer(t, store, oneThread);
  const stored = () => storedPlants(store).map(([id]) => Number(id));
  const kept = new Set(stored());
  const lost = acknowledged.filter((id) => !kept.has(id));
  assert.deepEqual(lost, []);
  for (const id of sent) assert.equal((await create(again.plantsUrl, plant(id))).status, 200);
  assert.deepEqual(stored(), sent);
}

for (const [kind, what] of [
  ['disk hangs', 'the disk does not return from a sync'],
  ['folder is shut after a sync', 'the folder of the store is shut'],
] as const) {
  test(`while ${what}, creates get 50301 in bounded time; when it goes on, so does the service`, async (t) => {
    const server = await startHanging(t, kind);
    assert.deepEqual(await statusAndCode(await create(server.plantsUrl, plant(3))), [503, 50301]);

    server.heal();

    await createdAtLast(server.plantsUrl, plant(3));
    assert.equal(await server.stop(), 0);
    await assertNothingIsLost(t, server, [1, 2, 3], [1, 3]);
  });

  test(`a create that is stored while ${what} gets 200 when it goes on`, async (t) => {
    const server = await startSabotaged(t, kind, '--commit-timeout', '1m');
    server.sabotage();
    const created = create(server.plantsUrl, plant(2));
    while (storedPlants(server.store).length < 2) await pause();

    server.heal();

    assert.equal((await created).status, 200);
  });
}

test('a service whose folder is shut for good stops with exit code 0, and loses nothing', async (t) => {
  const server = await startHanging(t, 'folder is shut after a sync');

  assert.equal(await server.stop(), 0);

  await assertNothingIsLost(t, server, [1, 2], [1]);
});

test('a service whose disk hangs for good still stops in bounded time, by SIGKILL, and loses nothing', async (t) => {
  const server = await startHanging(t);

  await server.stop();

  assert.equal(server.child.signalCode, 'SIGKILL');
  assert.match(server.stderr(), /the service does not stop by itself/);
  await assertNothingIsLost(t, server, [1, 2], [1]);
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

for (const [kind, says] of [
  ['thread for checkpoints ends', /the thread of the store has ended/],
  ['thread for checkpoints throws', /thrown by the test/],
] as const) {
  test(`when the ${kind}, the service ends as a failure and nothing is lost`, async (t) => {
    const server = await startSabotaged(t, kind);
    server.sabotage();
    const sent: number[] = [];
    const acknowledged: number[] = [];
    for (let id = 1; server.child.exitCode === null && id < 1_000; id += 1) {
      sent.push(id);
      const reply = await create(server.plantsUrl, plant(id)).catch(() => undefined);
      if (reply?.status === 200) acknowledged.push(id);
    }
    await assertEndsByItself(server, says);
    await assertNothingIsLost(t, server, sent, acknowledged);
  });
}

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

for (const [kind, says] of [
  ['HTTP thread hangs', /an HTTP thread has not answered for \d/],
  ['disk hangs', /the last stored test write was \d/],
] as const) {
  test(`while a ${kind}, the service is not ready`, async (t) => {
    const server = await startSabotaged(t, kind, '--http-threads', '2');
    const probe = async () => {
      const reply = await fetch(`${server.opsUrl}readyz`);
      return `${reply.status} ${await reply.text()}`;
    };
    assert.match(await probe(), /^200 /);
    server.sabotage();

    while (!(await probe()).startsWith('503')) await pause();

    assert.match(await probe(), says);
    server.heal();
    while (!(await probe()).startsWith('200')) await pause();
  });
}

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

test('a start that fails in a thread says so in one line', async (t) => {
  const args = ['serve', '--port', '0', ...on(await storePath(t))];
  failed(await runProgram(args, sabotaging('store is locked for threads')), /: locked\n$/);
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
  await assertNothingIsLost(t, server, [1, 2, 3], [1, 2, 3]);
});
