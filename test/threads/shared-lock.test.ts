import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../../src/limits.ts';
import { sharedLock } from '../../src/threads/shared-lock.ts';

const lockUrl = new URL('../../src/threads/shared-lock.ts', import.meta.url);

test('a process that waits for the lock alone does not end before it has the lock', () => {
  const script = `
    import { sharedLock } from ${JSON.stringify(lockUrl)};
    const lock = sharedLock(new Int32Array(new SharedArrayBuffer(8)));
    const ticket = await lock.acquire();
    // As a thread for checkpoints, which does not keep the process.
    setTimeout(() => lock.release(ticket), 10).unref();
    await lock.acquire();
    process.stdout.write('has the lock');`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
  });
  assert.equal(stdout, 'has the lock', stderr);
});

test('the lock is taken from an owner that is idle and stands still, from no other, and the old ticket is void', async () => {
  const lock = sharedLock(new Int32Array(new SharedArrayBuffer(8)));
  const owners: string[] = [];
  const acquire = async (name: string) => {
    const ticket = await lock.acquire();
    owners.push(name);
    return ticket;
  };
  const first = await acquire('first');
  const second = acquire('second');
  // Only time shows that a busy owner keeps the lock.
  await delay(3 * limits.service.standstillMs);
  assert.deepEqual(owners, ['first']);
  lock.allowTakeover(first);
  const ticket = await second;
  const third = acquire('third');
  lock.release(first);
  await delay(0);
  assert.deepEqual(owners, ['first', 'second']);
  lock.release(ticket);
  await third;
});
