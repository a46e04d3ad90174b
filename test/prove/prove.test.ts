import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { mounted } from '../helpers/mounts.ts';
import { takesNoCode, temporaryFolder } from '../helpers/program.ts';
import { failed, on, runHere } from '../helpers/run-here.ts';
import { skipVisibly } from '../helpers/skips.ts';
import {
  assertFindsHarm,
  assertPasses,
  assertStops,
  briefly,
  passed,
  prove,
  untilStopped,
} from './engines.ts';

test('on PostgreSQL, prove kills a loaded service again and again, finds every plant, and leaves nothing behind', (t) =>
  assertPasses(t, 'PostgreSQL', 1));

test(
  'on SQLite, prove finds out when plants are changed, says how many, and ends with 1',
  {
    skip: takesNoCode,
  },
  (t) => assertFindsHarm(t, 'SQLite'),
);

test(
  'on SQLite, SIGTERM while the service creates plants ends prove with 1, and leaves neither data nor a process behind',
  untilStopped,
  (t) => assertStops(t, 'SQLite'),
);

test('prove says of a disk in memory that it proves nothing about power cuts', async (t) => {
  if (!existsSync('/dev/shm')) return skipVisibly(t, 'there is no /dev/shm');
  const folder = await temporaryFolder(t, '/dev/shm');
  const { code, stdout } = await prove(`sqlite:${join(folder, 'plants.db')}`, briefly(1));
  assert.equal(code, 0, stdout);
  for (const line of [
    /^warning {3}tmpfs is memory: nothing in it outlives a power cut/m,
    ...passed,
  ])
    assert.match(stdout, line);
  assert.deepEqual(readdirSync(folder), []);
});

test('prove needs a folder that it may write, with room, and says so', async (t) => {
  const says =
    /: cannot make a folder in \/proc \(.*\); run this as the user that the store belongs to, or name /;
  const proveIn = (folder: string) => runHere(['prove', ...on(join(folder, 'plants.db'))]);
  failed(await proveIn('/proc'), says);

  const small = mounted(t, 'size=32m');
  if (small === undefined) return;
  failed(
    await proveIn(small),
    /: the disk is too full: 512 MiB are needed in .*, and 32 MiB are free; make room, or name a store elsewhere with --store\n$/,
  );
});
