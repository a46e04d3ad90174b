import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { nameIn } from '../helpers/pause.ts';
import {
  create,
  oneThread,
  runProgram,
  startInTest,
  startServer,
  temporaryFolder,
} from '../helpers/program.ts';
import { on } from '../helpers/run-here.ts';
import { newStore, storedPlants } from '../helpers/store-file.ts';
import { counts, fileFor, interruptedImport, manyPlants, run, shell } from './files.ts';

test('an import that is killed in the middle is finished by running it again', async (t) => {
  const { file, store, length } = await interruptedImport(t, 'SIGKILL');
  const again = await run(store, 'import', file);
  const { created = 0, same = 0, ...others } = counts(again);
  assert.deepEqual(others, { refused: 1, 'refused 40000': 1 });
  assert(same >= length);
  assert.equal(created + same, 50_000);
  assert.equal(storedPlants(store).length, 50_000);
});

test('import and export work while a service is creating plants', async (t) => {
  const { file, store } = await fileFor(t, 'plants.ndjson', manyPlants(5_000));
  const server = await startServer(t, store, oneThread);
  const importing = runProgram(['import', file, ...on(store)]);
  let isDone = false;
  void importing.then(() => (isDone = true));
  let created = 0;
  for (; !isDone; created += 1) {
    const { status } = await create(server.plantsUrl, { id: -1 - created, name: 'by HTTP' });
    assert.equal(status, 200);
  }
  const imported = await importing;
  assert.equal(counts(imported)['created'], 5_000, imported.stderr);
  assert(created > 0);
  const exported = await run(store, 'export');
  assert.equal(exported.stdout.split('\n').length - 1, 5_000 + created);
  assert.equal(await server.stop(), 0);
});

test('a reader of an export or a list that has seen enough ends it without a word', async (t) => {
  const store = await newStore(t, 30_000);
  for (const command of ['export', 'plants list --limit none']) {
    const { code, stdout, stderr } = shell(store, `plant-store ${command} | head -n 1`);
    assert.match(stdout, /^\{"id":1,"name":"xxxxxxxxxx1","tag":"odd"[^\n]*\}\n$/);
    assert.deepEqual([code, stderr], [0, '']);
  }
});

/** Interrupts an export while it writes; one that has ended before is begun again. @returns what is left */
async function leftBy(signal: NodeJS.Signals, t: TestContext, store: string): Promise<string[]> {
  for (let tries = 0; tries < 10; tries += 1) {
    const folder = await temporaryFolder(t);
    const appeared = nameIn(folder);
    const path = join(folder, 'plants.csv.gz');
    const { child, ended } = startInTest(t, ['export', path, ...on(store)]);
    await Promise.race([appeared, ended]);
    child.kill(signal);
    const { stderr } = await ended;
    if (child.signalCode === signal) return readdirSync(folder);
    assert.equal(child.exitCode, 0, stderr);
  }
  assert.fail(`${signal} ends no export`);
}

test('an export that is interrupted leaves nothing, and one that is killed nothing under the name', async (t) => {
  const store = await newStore(t, 30_000);
  assert.deepEqual(await leftBy('SIGINT', t, store), []);
  const left = await leftBy('SIGKILL', t, store);
  assert.deepEqual(
    left.filter((name) => !name.includes('.unfinished-')),
    [],
  );
});
