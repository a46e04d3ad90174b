import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import manifest from '../../package.json' with { type: 'json' };
import { extractLibraries } from '../container.ts';

/* The executable for arm64 in `release/`, under emulation. Needs qemu-user and mmdebstrap. */

const executable = resolve(`release/plant-store-${manifest.version}-linux-arm64`);
const folder = mkdtempSync(join(tmpdir(), 'plant-store-arm64-'));
const [root, program] = [join(folder, 'root'), join(folder, 'plant-store')];
after(() => rmSync(folder, { recursive: true }));

test('the executable for arm64 starts, stores a plant, and backs it up', {
  skip: !existsSync(executable) && 'the release is for other platforms',
}, async (t) => {
  extractLibraries('arm64', root);
  const emulated = `#!/bin/sh\nexec qemu-aarch64 -L ${root} ${executable} "$@"\n`;
  writeFileSync(program, emulated, { mode: 0o755 });
  process.env['TEST_PROGRAM'] = program;
  const { create, oneThread, runProgram, startServer } = await import(
    '../../test/helpers/program.ts'
  );
  const [store, backup] = [join(folder, 'data/plants.db'), join(folder, 'backup.db')];
  const { plantsUrl, stop } = await startServer(t, store, oneThread);
  const version = await runProgram(['--version', '--json']);
  assert.equal(JSON.parse(version.stdout).platform, 'linux-arm64');
  const { status } = await create(plantsUrl, '{"id":9223372036854775807,"name":"Alder"}');
  assert.equal(status, 200);
  await runProgram(['backup', backup, '--store', `sqlite:${store}`]);
  assert.match((await runProgram(['verify', backup])).stdout, /^plants +1$/m);
  await stop();
});
