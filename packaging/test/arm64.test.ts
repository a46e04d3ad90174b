import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import manifest from '../../package.json' with { type: 'json' };
import { extractLibraries } from '../container.ts';

/* The executable for arm64 in `release/`, under emulation. Needs qemu-user and mmdebstrap. */

const executable = resolve(`release/plant-store-${manifest.version}-linux-arm64`);
const folder = mkdtempSync(join(tmpdir(), 'plant-store-arm64-'));
const root = join(folder, 'root');
after(() => rmSync(folder, { recursive: true }));
const emulated = ['-L', root, executable];
const run = (...args: string[]) =>
  execFileSync('qemu-aarch64', [...emulated, ...args], { cwd: folder, encoding: 'utf8' });

test('the executable for arm64 starts, stores a plant, and backs it up', {
  skip: !existsSync(executable) && 'the release is for other platforms',
}, async (t) => {
  extractLibraries('arm64', root);
  assert.equal(JSON.parse(run('--version', '--json')).platform, 'linux-arm64');
  const service = spawn('qemu-aarch64', [...emulated, 'serve', '--port=0', '--ops-port=0'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.after(() => service.kill('SIGKILL'));
  let log = '';
  service.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  while (!log.includes('"ready"')) {
    await once(service.stderr, 'data');
    assert.equal(service.exitCode, null, log);
  }
  const token = readFileSync(join(folder, 'data/first-start.token'), 'utf8').trim();
  const reply = await fetch(/"url":"([^"]*)"/.exec(log)?.[1] ?? '', {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: '{"id":9223372036854775807,"name":"Alder"}',
  });
  assert.equal(await reply.text(), '{"name":"Alder"}');
  run('backup', 'backup.db');
  assert.match(run('verify', 'backup.db'), /^plants +1$/m);
  service.kill('SIGTERM');
  await once(service, 'close');
  assert.match(log, /"stopped"/);
});
