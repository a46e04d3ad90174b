import assert from 'node:assert/strict';
import { readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { backUp } from '../../src/store/sqlite/backup.ts';
import { claimSqliteStore } from '../../src/store/sqlite/claim.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import { temporaryFolder } from '../helpers/program.ts';
import { newStore, storedPlants } from '../helpers/store-file.ts';

const lockMs = 5_000;

test('a copy is of one moment and never starts over, although another process writes between its steps', async (t) => {
  // Some 30 MB, so that the copy takes several steps.
  const path = await newStore(t, 30_000, 1_000);
  const stored = storedPlants(path);
  const copy = join(await temporaryFolder(t), 'copy.db');
  using writer = new DatabaseSync(path);
  const insert = writer.prepare(
    `INSERT INTO plants SELECT max(id) + 1, 'later', NULL, 0, 0 FROM plants`,
  );

  const percentages: number[] = [];
  await backUp(path, copy, (doing) => {
    insert.run();
    const percent = /copying: ([0-9]+) %/.exec(doing)?.[1];
    if (percent !== undefined) percentages.push(Number(percent));
  });

  assert(percentages.length > 3, `${percentages}`);
  assert.deepEqual(
    percentages,
    percentages.toSorted((a, b) => a - b),
  );
  assert.deepEqual(storedPlants(copy), stored);
  assert(storedPlants(path).length > stored.length + 3);
});

const _alterations = {
  'lacks a plant': 'DELETE FROM plants WHERE id = 2',
  'has one more': `INSERT INTO plants VALUES (9, 'x', NULL, 0, 0)`,
  'has another name': `UPDATE plants SET name = 'x' WHERE id = 2`,
  'has a tag instead of none': `UPDATE plants SET tag = '' WHERE id = 2`,
  'has another time': 'UPDATE plants SET created_at = 1 WHERE id = 2',
  'has another token': 'UPDATE plants SET created_by = 7 WHERE id = 2',
};

test('a service that has opened the store in the moment in which it was replaced does not write to the old one', {
  skip: process.platform === 'linux' ? false : 'open files are only told on Linux',
}, async (t) => {
  const [path, other] = [await newStore(t), await newStore(t, 3)];
  const isOpen = (file: string) =>
    openFiles().filter((open) => open === realpathSync(file)).length > 1;
  const claimed = claimSqliteStore(path, false);
  const opening = openSqliteStore(path, lockMs);
  const refusal = assert.rejects(opening, {
    name: 'StoreOpenError',
    message: /cannot open the store/,
  });
  while (!isOpen(path)) await new Promise(setImmediate);

  assert.equal(claimed.replaceBy(other, `${path}.kept`), true);
  claimed[Symbol.dispose]();

  await refusal;
  await using store = await openSqliteStore(path, lockMs);
  assert.equal((await store.countMatches({ budgetMs: 1_000 })).plants, 3);
});

function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/self/fd/${descriptor}`)];
    } catch {
      // It was closed after the folder was read.
      return [];
    }
  });
}
