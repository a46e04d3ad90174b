import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

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
