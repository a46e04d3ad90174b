import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { StoreOpenError } from '../../src/store/errors.ts';
import { passwordFrom } from '../../src/store/postgres/password-file.ts';
import { tlsOptions } from '../../src/store/postgres/tls.ts';
import { temporaryFolder } from '../helpers/program.ts';

const lines = `# hostname:port:database:username:password
#db:5432:plants:ada:not this
db:5432:plants:ada:first
db:5432:plants:ada:second
db:*:plants:eve:any port
*:5433:*:*:that port
d\\:b:5432:pl\\\\ants:a\\*a:with\\:colon\\\\backslash
::1:5432:plants:ada:too many fields
\\:\\:1:5432:plants:ada:of an address
localhost:5432:plants:ada:by name or socket
/run/postgresql:5432:beds:ada:by folder
db:5432:plants:max:unescaped:colon 
db:5432:beds:ada
`;

const ada = { host: 'db', port: 5432, database: 'plants', user: 'ada' };

const questions = [
  [ada, 'first'],
  [{ ...ada, user: 'eve', port: 1 }, 'any port'],
  [{ ...ada, port: 5433 }, 'that port'],
  [{ host: 'd:b', port: 5432, database: 'pl\\ants', user: 'a*a' }, 'with:colon\\backslash'],
  [{ host: 'd:b', port: 5432, database: 'pl\\ants', user: 'aaa' }, undefined],
  [{ ...ada, host: '::1' }, 'of an address'],
  [{ ...ada, host: 'localhost' }, 'by name or socket'],
  [{ ...ada, host: '/tmp' }, 'by name or socket'],
  [{ ...ada, host: '/run/postgresql', database: 'beds' }, 'by folder'],
  [{ ...ada, user: 'max' }, 'unescaped:colon '],
  [{ ...ada, database: 'beds' }, undefined],
  [{ ...ada, host: 'd' }, undefined],
  [{ ...ada, user: 'Ada' }, undefined],
] as const;

test('a password is found as libpq finds it', async (t) => {
  const file = join(await temporaryFolder(t), 'passwords');
  for (const text of [lines, lines.replaceAll('\n', '\r\n')]) {
    writeFileSync(file, text, { mode: 0o600 });
    for (const [question, password] of questions)
      assert.equal(await passwordFrom(file, question), password, JSON.stringify(question));
  }
});

test('a password file that another user may read is refused, and the message says what to do', {
  skip: process.platform === 'win32',
}, async (t) => {
  const file = join(await temporaryFolder(t), 'passwords');
  writeFileSync(file, lines);
  for (const mode of [0o640, 0o604, 0o620]) {
    chmodSync(file, mode);
    await assert.rejects(
      passwordFrom(file, ada),
      (error: Error) => error instanceof StoreOpenError && /; run: chmod 600 /.test(error.message),
    );
  }
});

test('no file, and one that is none, hold no passwords', async (t) => {
  assert.equal(await passwordFrom(join(await temporaryFolder(t), 'passwords'), ada), undefined);
  assert.equal(await passwordFrom('/dev/null', ada), undefined);
});

test('a file that is too large for passwords is not read whole', async (t) => {
  const file = join(await temporaryFolder(t), 'passwords');
  writeFileSync(file, lines, { mode: 0o600 });
  truncateSync(file, 4 * 1_024 ** 3);
  const tooLarge = (error: Error) =>
    error instanceof StoreOpenError && /passwords is larger than 4 MiB$/.test(error.message);
  await assert.rejects(passwordFrom(file, ada), tooLarge);
});

test('no file of TLS is waited for that is a pipe', async (t) => {
  const pipe = join(await temporaryFolder(t), 'pipe');
  spawnSync('mkfifo', [pipe]);
  const files = { rootFile: undefined, certificateFile: undefined, keyFile: undefined };
  const isPipe = (error: Error) =>
    error instanceof StoreOpenError && /pipe is a pipe and not a regular file$/.test(error.message);
  for (const name of ['rootFile', 'certificateFile', 'keyFile']) {
    await assert.rejects(tlsOptions({ mode: 'verify-full', ...files, [name]: pipe }), isPipe);
  }
});
