import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { permissionFlags } from '../../src/cli/permissions.ts';
import { create, oneThread, startServer, temporaryFolder } from '../helpers/program.ts';

/** A service on a store that it has made itself. */
const store = join(await temporaryFolder({ after }), 'data', 'plants.db');
const server = await startServer({ after }, store, [], {});
const firstToken = join(dirname(store), 'first-start.token');

const skip = process.platform === 'linux' ? false : 'the arguments of a process are only read on Linux';

test('the service has become a process that Node keeps from all it does not need, unless the operator turns that off', {
  skip,
}, async (t) => {
  const headers = { Authorization: `Bearer ${readFileSync(firstToken, 'utf8').trimEnd()}` };
  const argumentsOf = ({ pid }: ChildProcess) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');

  const free = await startServer(t, store, ['--permission-model', 'off', ...oneThread]);

  assert(argumentsOf(server.child).includes('--permission'));
  assert(!argumentsOf(free.child).includes('--permission'));
  for (const { plantsUrl } of [server, free]) assert.equal((await create(plantsUrl, { id: 1, name: 'Alder' }, headers)).status, 200);
});

/** What a program is kept from under the flags, as a program that tries it and says what came of it. */
function tried(flags: readonly string[], folder: string, attempts: Readonly<Record<string, string>>): Record<string, string> {
  const program = `
    import fs from 'node:fs';
    import { execFileSync } from 'node:child_process';
    import { Worker } from 'node:worker_threads';
    const outcomes = {};
    for (const [what, attempt] of Object.entries(${JSON.stringify(attempts)})) {
      try { eval(attempt); outcomes[what] = 'allowed'; } catch (error) { outcomes[what] = error.code; }
    }
    console.log(JSON.stringify(outcomes));`;
  writeFileSync(join(folder, 'attempts.mjs'), program);
  return JSON.parse(execFileSync(process.execPath, [...flags, join(folder, 'attempts.mjs')], { encoding: 'utf8' }));
}

test('under those flags the store can be written and nothing else, also through a symbolic link', async (t) => {
  const folder = await temporaryFolder(t);
  mkdirSync(join(folder, 'real'));
  symlinkSync(join(folder, 'real'), join(folder, 'link'));
  const beside = join(folder, 'beside');
  writeFileSync(beside, 'secret');

  for (const data of [join(folder, 'new', 'data'), join(folder, 'link')]) {
    mkdirSync(data, { recursive: true });
    const path = join(data, 'plants.db');
    const write = (file: string) => `fs.writeFileSync(${JSON.stringify(file)}, '')`;
    const outcomes = tried(
      permissionFlags({ engine: 'sqlite', path }, undefined, {}),
      data.endsWith('link') ? join(folder, 'real') : data,
      {
        'write the store': write(path),
        'write the first token': write(join(data, 'first-start.token')),
        'write another file': write(join(data, 'other')),
        'read the folder of the store': `fs.readdirSync(${JSON.stringify(data)})`,
        'read another file': `fs.readFileSync(${JSON.stringify(beside)})`,
        'read the accounts of the machine': `fs.readFileSync('/etc/passwd')`,
        'start a program': `execFileSync('true')`,
        'start a thread': `new Worker('', { eval: true })`,
      },
    );
    assert.deepEqual(outcomes, {
      'write the store': 'allowed',
      'write the first token': 'allowed',
      'write another file': 'ERR_ACCESS_DENIED',
      'read the folder of the store': 'allowed',
      'read another file': 'ERR_ACCESS_DENIED',
      'read the accounts of the machine': 'ERR_ACCESS_DENIED',
      'start a program': 'ERR_ACCESS_DENIED',
      'start a thread': 'allowed',
    });
  }
});

test('the service starts under them when it is called by a link from elsewhere, as npx does', async (t) => {
  const [folder, elsewhere] = [await temporaryFolder(t), await temporaryFolder(t)];
  symlinkSync(fileURLToPath(new URL('../..', import.meta.url)), join(elsewhere, 'package'));
  const link = join(elsewhere, 'plant-store');
  symlinkSync(join(elsewhere, 'package/bin/plant-store.js'), link);
  const child = spawn(
    process.execPath,
    [link, 'serve', '--port', '0', '--ops-port', '0', '--store', `sqlite:${join(folder, 'plants.db')}`],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  t.after(() => child.kill('SIGKILL'));

  const [printed] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);

  assert.match(String(printed), /^Plant Store .* is ready/);
});

test('what the service writes can be read by its own user only', () => {
  const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);

  const files = [store, `${store}-wal`, `${store}-shm`, firstToken];
  assert.deepEqual(files.map(mode), ['600', '600', '600', '600']);
  assert.equal(mode(dirname(store)), '750');
});

test('a service that runs as root is warned of it', { skip: process.getuid?.() === 0 ? false : 'this is not root' }, () => {
  assert.match(server.stderr(), /"warn".*runs as root/);
});
