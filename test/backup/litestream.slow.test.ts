import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { plant, sabotaging, withLimits } from '../helpers/faults.ts';
import {
  litestreamProgram,
  litestreamYml,
  type ReplicatedStore,
  restoreReplica,
  startLitestream,
  whyNoLitestream,
} from '../helpers/litestream.ts';
import { blocksOf } from '../helpers/pages.ts';
import {
  create,
  type Owner,
  oneThread,
  programInShell,
  startServer,
  takesNoCode,
  temporaryFolder,
} from '../helpers/program.ts';
import { done, on, refused } from '../helpers/run-here.ts';
import { skipVisibly } from '../helpers/skips.ts';
import { storedPlants, walSalt } from '../helpers/store-file.ts';

/** Builds Litestream, or skips the test. */
function isMissing(t: TestContext): boolean {
  const why = whyNoLitestream();
  if (why !== undefined) skipVisibly(t, why);
  return why !== undefined;
}

async function replicatedStore(owner: Owner): Promise<ReplicatedStore> {
  const folder = await temporaryFolder(owner);
  return { store: join(folder, 'data/plants.db'), replica: join(folder, 'replica') };
}

/** The plants that the replica has. */
async function restored(replicated: ReplicatedStore) {
  const file = `${replicated.replica}.restored.db`;
  await restoreReplica(replicated, file);
  return storedPlants(file);
}

test('Litestream outlives stops of the service, and the commands of the store work beside it', async (t) => {
  if (isMissing(t)) return;
  const replicated = await replicatedStore(t);
  const { store, replica } = replicated;
  // It waits for the store.
  const litestream = startLitestream(t, replicated);
  const first = await startServer(t, store, oneThread);
  assert.equal((await create(first.plantsUrl, { id: 1, name: 'Alder' })).status, 200);
  await litestream.inSync();
  const second = await startServer(t, store, oneThread);
  await first.stop();
  assert.equal((await create(second.plantsUrl, { id: 2, name: 'Birch' })).status, 200);
  const plants = `${replica}.ndjson`;
  writeFileSync(plants, '{"id":3,"name":"Cedar"}\n');
  await done('import', plants, ...on(store));
  await done('backup', `${replica}.backup.db`, ...on(store));
  await done('verify', `${replica}.backup.db`);
  await done('verify', ...on(store));
  await second.stop();
  const inUse = /another process has the store at .* open; stop the service/;
  await refused(inUse, 'restore', `${replica}.backup.db`, '--overwrite', ...on(store));
  await litestream.stop();

  assert.deepEqual(await restored(replicated), [
    [1n, 'Alder', null],
    [2n, 'Birch', null],
    [3n, 'Cedar', null],
  ]);
});

test('a Litestream that was away while the WAL began again misses no create', {
  skip: takesNoCode,
}, async (t) => {
  if (isMissing(t)) return;
  const replicated = await replicatedStore(t);
  const checkpointPages = 100;
  const often = withLimits({ sqlite: { checkpointPages } });
  const { plantsUrl } = await startServer(t, replicated.store, oneThread, often);
  let plants = 0;
  // Each plant takes a page, and changes others: its id lies between earlier ids.
  const createPage = async () => {
    plants += 1;
    const id = (plants * 7_919) % 100_003;
    const { status } = await create(plantsUrl, { id, name: 'leaf '.repeat(700) });
    assert.equal(status, 200);
  };
  const away = startLitestream(t, replicated);
  const pages = Array.from({ length: 0.7 * checkpointPages }, createPage);
  await Promise.all(pages);
  await away.inSync();
  await away.stop('SIGKILL');
  const begun = () => walSalt(replicated.store);
  for (const before = begun(); begun() === before; ) await createPage();
  const back = startLitestream(t, replicated);
  await back.inSync();
  await back.stop();

  assert.equal((await restored(replicated)).length, plants);
});

test('a kill during a sync leaves the same in the store and in the replica', {
  skip: takesNoCode,
}, async (t) => {
  if (isMissing(t)) return;
  const replicated = await replicatedStore(t);
  const flag = `${replicated.replica}.flag`;
  const litestream = startLitestream(t, replicated);
  const hanging = sabotaging('disk hangs', flag);
  const { plantsUrl, stop } = await startServer(t, replicated.store, oneThread, hanging);
  assert.equal((await create(plantsUrl, plant(1))).status, 200);
  writeFileSync(flag, '');
  // Answered within the time for a commit: by then the plant is in the WAL, and no sync has ended.
  assert.equal((await create(plantsUrl, plant(2))).status, 503);
  await stop('SIGKILL');
  await litestream.inSync();
  const next = await startServer(t, replicated.store, oneThread);
  assert.equal((await create(next.plantsUrl, plant(3))).status, 200);
  await litestream.inSync();
  await Promise.all([next.stop(), litestream.stop()]);

  const stored = storedPlants(replicated.store);
  assert.deepEqual(await restored(replicated), stored);
  assert.equal(stored.length, 3);
});

/** The blocks of commands, in the order of the page. */
const [onDebian, elsewhere, restoring] = blocksOf('docs/operate/litestream.md')
  .filter(({ language }) => language === 'bash')
  .map(({ text }) => text);

test('the commands of the page follow a store, and restore it in another place', async (t) => {
  if (isMissing(t)) return;
  assert(elsewhere && restoring && onDebian?.includes('plant-store-litestream'));
  const replicated = await replicatedStore(t);
  const folder = dirname(replicated.replica);
  const plantStore = `plant-store() { ${programInShell} "$@"; }\n`;
  const env = { ...process.env, PATH: `${dirname(litestreamProgram)}:${process.env['PATH']}` };
  const typed = (text: string) => text.replaceAll('/mnt/replica', replicated.replica);
  copyFileSync(litestreamYml, join(folder, 'litestream.yml'));
  const { plantsUrl, stop } = await startServer(t, replicated.store, oneThread);
  assert.equal((await create(plantsUrl, { id: 1, name: 'Alder' })).status, 200);

  const script = typed(elsewhere).replace('litestream replicate', 'exec litestream replicate');
  const litestream = spawn('bash', ['-euc', script], { cwd: folder, env });
  t.after(() => litestream.kill('SIGKILL'));
  const exit = once(litestream, 'close');
  let log = '';
  while (!log.includes('snapshot complete')) log += (await once(litestream.stdout, 'data'))[0];
  assert.equal((await create(plantsUrl, { id: 2, name: 'Birch' })).status, 200);
  await stop('SIGKILL');
  litestream.kill('SIGTERM');
  await exit;

  writeFileSync(replicated.store, 'a damaged store');
  const args = ['-euc', plantStore + typed(restoring)];
  await promisify(execFile)('bash', args, { cwd: folder, env });
  const ids = storedPlants(replicated.store).map(([id]) => id);
  assert.deepEqual(ids, [1n, 2n]);
});
