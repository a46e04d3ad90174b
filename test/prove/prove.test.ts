import assert from 'node:assert/strict';
import { existsSync, readdirSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { withLimits } from '../helpers/faults.ts';
import { mounted } from '../helpers/mounts.ts';
import {
  childrenOf,
  type Ended,
  runProgram,
  startInTest,
  takesNoCode,
  temporaryFolder,
} from '../helpers/program.ts';
import { failed } from '../helpers/run-here.ts';
import { skipVisibly } from '../helpers/skips.ts';

function prove(folder: string, variables: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return runProgram(['prove', '--store', `sqlite:${join(folder, 'plants.db')}`], variables);
}

/** Measures the disk for a moment instead of a second. @param module is loaded, too */
function briefly(seconds: number, module?: string): Readonly<Record<string, string>> {
  const { NODE_OPTIONS, ...others } = withLimits({ prove: { seconds, syncMs: 50 } });
  return { ...others, NODE_OPTIONS: `${NODE_OPTIONS}${module ? ` --import=${module}` : ''}` };
}

test('prove kills a loaded service again and again, finds every plant, and leaves nothing behind', async (t) => {
  const folder = await temporaryFolder(t);
  const settings = {
    PLANT_STORE_BASE_PATH: '/garden',
    PLANT_STORE_TOKEN: 'of-the-operator',
    PLANT_STORE_PORT: '1',
  };

  const { code, stdout, stderr } = await prove(folder, { ...briefly(2), ...settings });

  assert.deepEqual([code, stderr], [0, ''], stdout);
  assert.match(stdout, /^disk {6}.*, fdatasync p50 [0-9.]+ ms, p99 [0-9.]+ ms$/m);
  assert.match(
    stdout,
    /^load {6}[1-9][0-9,]* plants acknowledged on 16 connections, [1-9][0-9,]* a second$/m,
  );
  assert.match(stdout, /^kills {5}([2-9]|[1-9][0-9]+)$/m);
  assert.match(stdout, /^plants {4}0 lost, 0 changed, 0 extra$/m);
  assert.match(stdout, /^verdict {3}passed: /m);
  assert.match(stdout, /^unproved {2}a kill is not a power cut/m);
  assert.deepEqual(readdirSync(folder), []);
});

test('prove says of a disk in memory that it proves nothing about power cuts', async (t) => {
  if (!existsSync('/dev/shm')) return skipVisibly(t, 'there is no /dev/shm');
  const folder = await temporaryFolder(t, '/dev/shm');
  const { code, stdout } = await prove(folder, briefly(1));
  assert.equal(code, 0, stdout);
  assert.match(stdout, /^warning {3}tmpfs is memory: nothing in it outlives a power cut/m);
  assert.deepEqual(readdirSync(folder), []);
});

/**
 * A module for the service that, with every eighth reply, does something to the store on a
 * connection of its own.
 */
function saboteur(folder: string, sql: string): string {
  const module = join(folder, 'saboteur.mjs');
  writeFileSync(
    module,
    `import { Socket } from 'node:net';
    import { DatabaseSync } from 'node:sqlite';
    // Threads have no arguments, but the variables of the process that has started them.
    const { PLANT_STORE_STORE: store } = process.env;
    if (process.argv.includes('serve')) process.env.SABOTAGED = store.slice('sqlite:'.length);
    const { write } = Socket.prototype;
    let replies = 0;
    let db;
    Socket.prototype.write = function (...args) {
      if (!String(args[0]).startsWith('HTTP/1.1 200')) return write.apply(this, args);
      db ??= new DatabaseSync(store.slice('sqlite:'.length), { timeout: 10_000 });
      replies += 1;
      if (replies % 8 === 0) db.exec(${JSON.stringify(sql)});
      return write.apply(this, args);
    };`,
  );
  return module;
}

for (const [what, sql, says] of [
  [
    'are lost',
    'DELETE FROM plants WHERE id % 16 = 3',
    /^plants {4}[1-9][0-9]* lost, 0 changed, 0 extra$/m,
  ],
  [
    'are changed',
    `UPDATE plants SET name = 'Oak' WHERE id % 16 = 3`,
    /^plants {4}0 lost, [1-9][0-9]* changed, 0 extra$/m,
  ],
] as const) {
  test(`prove finds out when plants ${what}, says how many, and ends with 1`, {
    skip: takesNoCode,
  }, async (t) => {
    const [folder, elsewhere] = [await temporaryFolder(t), await temporaryFolder(t)];
    const { code, stdout, stderr } = await prove(folder, briefly(30, saboteur(elsewhere, sql)));

    assert.deepEqual([code, stderr], [1, ''], stdout);
    assert.match(stdout, says);
    assert.match(stdout, /^verdict {3}FAILED/m);
    assert.deepEqual(readdirSync(folder), []);
  });
}

test('SIGTERM while the service creates plants ends prove with 1, and leaves neither a file nor a process behind', {
  skip: process.platform === 'linux' ? false : 'the children of a process are read from /proc',
}, async (t) => {
  const folder = await temporaryFolder(t);
  const args = ['prove', '--store', `sqlite:${join(folder, 'plants.db')}`];
  const { child, ended } = startInTest(t, args, briefly(3_600));
  const created = Promise.withResolvers<void>();
  const watcher = watch(folder, { recursive: true }, (_, name) => {
    if (name?.endsWith('plants.db-wal')) created.resolve();
  });
  await Promise.race([created.promise, ended]);
  watcher.close();
  const children = childrenOf(child.pid);
  child.kill('SIGTERM');
  failed(
    await ended,
    /^plant-store: stopped by SIGTERM before its time; nothing is left behind\n$/,
  );
  assert.deepEqual(readdirSync(folder), []);
  assert.equal(children.length, 1);
  for (const pid of children) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
});

test('prove needs a folder that it may write, with room, and says so', async (t) => {
  const says =
    /: cannot make a folder in \/proc \(.*\); run this as the user that the store belongs to, or name /;
  failed(await prove('/proc'), says);

  const small = mounted(t, 'size=32m');
  if (small === undefined) return;
  failed(
    await prove(small),
    /: the disk is too full: 512 MiB are needed in .*, and 32 MiB are free; make room, or name a store elsewhere with --store\n$/,
  );
});
