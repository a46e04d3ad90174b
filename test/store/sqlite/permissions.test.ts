import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startServer, temporaryFolder } from '../../helpers/program.ts';
import { done, on } from '../../helpers/run-here.ts';

/** A service on a store that it has made itself. */
const store = join(await temporaryFolder({ after }), 'data', 'plants.db');
const server = await startServer({ after }, store, [], {});
const firstToken = join(dirname(store), 'first-start.token');

test('the service starts when it is called by a link from elsewhere, as npx does', async (t) => {
  const [folder, elsewhere] = [await temporaryFolder(t), await temporaryFolder(t)];
  symlinkSync(fileURLToPath(new URL('../../..', import.meta.url)), join(elsewhere, 'package'));
  const link = join(elsewhere, 'plant-store');
  symlinkSync(join(elsewhere, 'package/bin/plant-store.js'), link);
  const ports = ['--port', '0', '--ops-port', '0', '--log-format', 'text'];
  const args = [link, 'serve', ...ports, ...on(join(folder, 'plants.db'))];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));

  const [printed] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);

  assert.match(String(printed), /^Plant Store .* is ready/);
});

test('what the service and its backups write can be read by their own user only, and has no secret but in its file', async (t) => {
  const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);
  const folder = await temporaryFolder(t);
  const [backup, restored] = [join(folder, 'backup.db'), join(folder, 'plants.db')];
  const token = readFileSync(firstToken, 'utf8').trim();
  await done('backup', backup, ...on(store));
  await done('restore', backup, ...on(restored));

  const withoutSecret = [store, `${store}-wal`, `${store}-shm`, backup, restored];
  for (const file of [...withoutSecret, firstToken, `${backup}.manifest.json`])
    assert.equal(mode(file), '600', file);
  for (const file of withoutSecret) assert(!readFileSync(file).includes(token), file);
  assert.equal(mode(dirname(store)), '750');
});

test('a service that runs as root is warned of it', {
  skip: process.getuid?.() === 0 ? false : 'this is not root',
}, () => {
  assert.match(server.stderr(), /"warn".*runs as root/);
});
