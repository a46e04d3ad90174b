import assert from 'node:assert/strict';
import { readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { backUp } from '../../../src/store/sqlite/backup.ts';
import { claimSqliteStore } from '../../../src/store/sqlite/claim.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { temporaryFolder } from '../../helpers/program.ts';
import { newStore, storedPlants } from '../../helpers/store-file.ts';

test('a copy is of one moment and never starts over, although another process writes between its steps', async (t) => {
  // Some 30 MB, so that the copy takes several steps.
  const path = await newStore(t, 30_000, 1_000);
  const stored = storedPlants(path);
  const copy = join(await temporaryFolder(t), 'copy.db');
  using writer = new DatabaseSync(path);
  const insert = writer.prepare(
    `INSERT INTO plants SELECT max(id) + 1, 'later', NULL, 0, 0 FROM plants`,
  );
  const steps: number[] = [];
  await backUp(path, copy, (_, standing) => {
    insert.run();
    steps.push(Number(standing?.done));
  });
  assert(steps.length > 3, `${steps}`);
  const ascending = steps.toSorted((a, b) => a - b);
  assert.deepEqual(steps, ascending);
  assert.deepEqual(storedPlants(copy), stored);
  assert.equal(storedPlants(path).length, stored.length + steps.length);
});

test('a service that has opened the store in the moment in which it was replaced does not write to the old one', {
  skip: process.platform === 'linux' ? false : 'open files are only told on Linux',
}, async (t) => {
  const [path, other] = [await newStore(t), await newStore(t, 3)];
  const isOpen = (file: string) =>
    openFiles().filter((open) => open === realpathSync(file)).length > 1;
  const claimed = claimSqliteStore(path, false);
  const opening = openSqliteStore(path, { callMs: 5_000, mayMake: true });
  const refusal = assert.rejects(opening, {
    name: 'StoreOpenError',
    message: /cannot open the store/,
  });
  while (!isOpen(path)) await new Promise(setImmediate);
  assert.equal(claimed.replaceBy(other, `${path}.kept`), true);
  claimed[Symbol.dispose]();
  await refusal;
  await using store = await openSqliteStore(path, { callMs: 5_000, mayMake: true });
  assert.equal((await store.countMatches({ budgetMs: 1_000 })).plants, 3);
});

function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/self/fd/${descriptor}`)];
    } catch {
      // The descriptor was closed after the folder was read.
      return [];
    }
  });
}
