import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { sabotaging } from '../helpers/faults.ts';
import { commandLine, oneThread, takesNoCode, temporaryFolder } from '../helpers/program.ts';

const watchdogMs = 300;

/** Starts a service as systemd does for a unit with `OpenFile=…:notify` and `WatchdogSec=`. */
async function startAsUnit(t: TestContext, variables: Readonly<Record<string, string>> = {}) {
  const folder = await temporaryFolder(t);
  const args = ['serve', '--port', '0', '--ops-port', 'off', ...oneThread];
  // The pid is known only to the process that becomes the service.
  const asUnit = ['-c', 'LISTEN_PID=$$ exec "$@"', 'sh', ...commandLine(...args).flat()];
  const child = spawn('sh', asUnit, {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      LISTEN_FDS: '2',
      LISTEN_FDNAMES: 'other:notify',
      WATCHDOG_USEC: `${watchdogMs * 1_000}`,
      ...variables,
    },
    stdio: ['ignore', 'ignore', 'ignore', 'ignore', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  let reports = '';
  const socket = child.stdio[4] as Readable;
  socket.setEncoding('utf8').on('data', (report: string) => (reports += report));
  return {
    child,
    folder,
    reports: () => reports,
    async reported(report: string) {
      const seen = reports.length;
      while (!reports.includes(report, seen)) await once(socket, 'data');
    },
  };
}

test('systemd learns when the service is ready, that it lives, and that it stops', async (t) => {
  const { child, reports, reported } = await startAsUnit(t);
  await reported('READY=1');
  await reported('WATCHDOG=1');
  await reported('WATCHDOG=1');
  child.kill('SIGTERM');
  await once(child, 'close');
  assert.equal(child.exitCode, 0);
  assert.match(
    reports(),
    /^(EXTEND_TIMEOUT_USEC=60000000)+READY=1(WATCHDOG=1)+STOPPING=1(WATCHDOG=1)*$/,
  );
});

test('a service whose disk hangs gives no sign of life until the disk goes on', {
  skip: takesNoCode,
}, async (t) => {
  const flag = join(await temporaryFolder(t), 'sabotage');
  const { reports, reported } = await startAsUnit(t, sabotaging('disk hangs', flag));
  await reported('WATCHDOG=1');
  writeFileSync(flag, '');
  // Only time shows that a report stays away. The first may be of a write before the hang.
  for (let before = -1; before !== reports().length; await delay(4 * watchdogMs))
    before = reports().length;
  rmSync(flag);
  await reported('WATCHDOG=1');
});
