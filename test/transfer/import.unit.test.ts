import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { formats } from '../../src/transfer/formats.ts';
import {
  type ImportCounts,
  type ImportOptions,
  importPlants,
} from '../../src/transfer/import-plants.ts';
import { storePath } from '../helpers/program.ts';
import { lockStore, openStoreAt, storedPlants } from '../helpers/store-file.ts';

const lockMs = 20;

function noCounts(): ImportCounts {
  return { created: 0, same: 0, refused: new Map() };
}

/** Imports lines, each a chunk of its own, into a new store. The text `fail` throws instead. */
async function importLines(
  t: TestContext,
  lines: readonly string[],
  told: Partial<ImportOptions>,
  prepare = (_path: string) => {},
  counts: ImportCounts = noCounts(),
) {
  const path = await storePath(t);
  await using store = await openStoreAt(path, lockMs);
  prepare(path);
  async function* chunks() {
    for (const line of lines) {
      if (line === 'fail') throw new Error('the disk is gone');
      yield Buffer.from(`${line}\n`);
    }
  }
  const options = {
    store,
    onRefused: () => {},
    onProgress: () => {},
    onWait: () => {},
    ...told,
  };
  await importPlants(chunks(), formats.ndjson.openReader(1_000), counts, options);
  return { counts, path };
}

test('what comes before a record that ends an import is stored, also in the same chunk', async (t) => {
  const path = await storePath(t);
  await using store = await openStoreAt(path);
  async function* chunks() {
    yield Buffer.from('id\tname\n1\ta\n2\t"b"\n');
  }
  const counts = noCounts();
  const options = { store, onRefused: () => {}, onProgress: () => {}, onWait: () => {} };
  const ended = importPlants(chunks(), formats.csv.openReader(1_000), counts, options);
  await assert.rejects(ended, { name: 'FileError', message: /two ways from line 3 on/ });
  assert.deepEqual([counts.created, storedPlants(path)], [1, [[1n, 'a', null]]]);
});

test('a store that takes nothing at the moment is asked again until it does', async (t) => {
  let lock: ReturnType<typeof lockStore> | undefined;
  const waited: string[] = [];
  const onWait = (why: string) => {
    waited.push(why);
    lock?.release();
  };
  const lines = ['{"id":1,"name":"a"}', '{"id":2,"name":"b"}'];
  const { counts, path } = await importLines(t, lines, { onWait }, (path) => {
    lock = lockStore(t, path);
  });
  assert.deepEqual(waited, ['another process has kept the store locked for 0.02 s']);
  assert.deepEqual(counts, { created: 2, same: 0, refused: new Map() });
  assert.equal(storedPlants(path).length, 2);
});

test('refusals come in the order of the file, whether the import or the store refuses', async (t) => {
  const told: (readonly [line: number, code: number])[] = [];
  const onRefused: ImportOptions['onRefused'] = (refused) =>
    told.push(...refused.map(({ record, code }) => [record.line, code] as const));
  const lines = [
    '{"id":1,"name":"a"}',
    '{"id":1,"name":"b"}\nx\n{"id":1,"name":"c"}',
    '{"id":1,"name":"a"}',
    '{}',
  ];
  const { counts } = await importLines(t, lines, { onRefused });
  assert.deepEqual(told, [
    [2, 40004],
    [3, 40000],
    [4, 40004],
    [6, 40001],
  ]);
  assert.deepEqual(counts, {
    created: 1,
    same: 1,
    refused: new Map([
      [40004, 2],
      [40000, 1],
      [40001, 1],
    ]),
  });
});
