import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { smallLog, withLimits } from '../../helpers/faults.ts';
import {
  create,
  oneThread,
  startProgram,
  startServer,
  storePath,
  takesNoCode,
} from '../../helpers/program.ts';
import { on } from '../../helpers/run-here.ts';
import { addPlants, alterStore, storedPlants, walSalt } from '../../helpers/store-file.ts';

/*
 * Other programs read the store while it is written to. What they read stays in the log, which must
 * not grow without end.
 */

/**
 * Another program that reads the store: one transaction after the other, each for so long. Resolves
 * when the first has begun.
 */
async function startReader(t: TestContext, store: string, transactionMs: number) {
  const program = `
    const db = new (require('node:sqlite').DatabaseSync)(process.argv[1], { readOnly: true, timeout: 5000 });
    const read = () => db.prepare('SELECT count(*) FROM plants').get();
    const pause = new Int32Array(new SharedArrayBuffer(4));
    for (;;) { db.exec('BEGIN'); read(); process.stdout.write('.'); Atomics.wait(pause, 0, 0, ${transactionMs}); db.exec('COMMIT'); }`;
  const child = spawn(process.execPath, ['-e', program, store], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  child.stdout.resume();
}

test('the WAL restarts beside readers that overlap, and stays small', {
  skip: takesNoCode,
}, async (t) => {
  const store = await storePath(t);
  // The WAL is not refused at its bound, but looked at after each create.
  const unbounded = { sqlite: { ...smallLog.sqlite, walBytesMax: 2 ** 30 } };
  const { plantsUrl, stop } = await startServer(t, store, oneThread, withLimits(unbounded));
  // One of them reads at every moment; the log is never without a reader.
  for (const ms of [7, 9, 11, 13]) await startReader(t, store, ms);

  const name = 'leaf '.repeat(2_000);
  const before = walSalt(store);
  let id = 0;
  while (walSalt(store) < before + 3) {
    id += 1;
    assert.equal((await create(plantsUrl, { id, name })).status, 200);
    assert(statSync(`${store}-wal`).size < 16 * 2 ** 20);
  }

  assert.equal(await stop(), 0);
  assert.equal(storedPlants(store).length, id);
});

test('plants list, whose output is not read, holds nothing in the WAL, and prints every plant of its start', async (t) => {
  const store = await storePath(t);
  const server = await startServer(t, store, oneThread);
  addPlants(store, 20_000);
  const list = startProgram(['plants', 'list', '--limit', '1000000', ...on(store)]);
  t.after(() => list.kill('SIGKILL'));
  await once(list.stdout, 'readable');

  alterStore(store, `INSERT INTO plants VALUES (-1, 'before those that are listed', NULL, 0, 0)`);
  using other = new DatabaseSync(store, { timeout: 5_000 });
  assert.equal(other.prepare('PRAGMA wal_checkpoint(RESTART)').get()?.['busy'], 0);

  const lines = (await list.stdout.setEncoding('utf8').toArray()).join('').trimEnd().split('\n');
  assert.equal(lines.length, 20_000);
  assert.match(lines.at(-1) ?? '', /^\{"id":20000,/);
  assert.equal(await server.stop(), 0);
});
