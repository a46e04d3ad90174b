import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { passwordFor } from '../../../src/store/postgres/credentials.ts';
import { temporaryFolder } from '../../helpers/program.ts';

test('a password file that others can read is ignored, and the one error says so', async (t) => {
  const file = join(await temporaryFolder(t), 'pgpass');
  const before = process.env['PGPASSFILE'];
  t.after(() => {
    if (before === undefined) delete process.env['PGPASSFILE'];
    else process.env['PGPASSFILE'] = before;
  });
  process.env['PGPASSFILE'] = file;
  const host = { host: 'db', port: 5432 };
  const of = { password: undefined, database: 'plants', user: 'ada' };
  const read = (mode: number) => {
    writeFileSync(file, 'db:5432:plants:ada:secret\n');
    chmodSync(file, mode);
    return passwordFor(host, of as Parameters<typeof passwordFor>[1]);
  };
  const write = t.mock.method(process.stderr, 'write', () => true);
  assert.equal(await read(0o600), 'secret');
  await assert.rejects(read(0o640), /there is none .* only if no other user can read it/);
  assert.equal(write.mock.callCount(), 0);
});
