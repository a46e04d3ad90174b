import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { diagnose } from '../../helpers/diagnosis.ts';
import { until } from '../../helpers/pause.ts';
import { startPostgres } from '../../helpers/postgres.ts';
import {
  create,
  createdAtLast,
  oneThread,
  startServer,
  temporaryFolder,
} from '../../helpers/program.ts';
import { failed, on, runHere } from '../../helpers/run-here.ts';

/** Without WAL senders, it waits for no standby. */
const server = await startPostgres(
  { after },
  { max_wal_senders: '0', synchronous_standby_names: '*' },
);

/** Runs work while a crash of the machine may take what the server has committed. */
async function withoutSync(work: () => Promise<void>): Promise<void> {
  await server.set('fsync', 'off');
  try {
    await work();
  } finally {
    await server.set('fsync', 'on');
  }
}

test('the service says at its start what a 200 means on its database', async (t) => {
  const args = [...oneThread, '--log-format', 'text'];
  const { child, stderr, stdout } = await startServer(t, await server.makeDatabase(), args);
  assert.match(
    stderr(),
    /a 200 means: each plant is on the disk of the server before .*; a standby /,
  );
  // The welcome comes after the line that says that it is ready.
  while (!stdout().includes('curl') && child.stdout) await once(child.stdout, 'data');
  assert.match(stdout(), /^ {2}a 200 {4}each plant is on the disk of the server before it is /m);
});

test('a database that may lose what it has committed is refused, prove and doctor say so, and nothing is made in it', async (t) => {
  const url = await server.makeDatabase();
  const file = join(await temporaryFolder(t), 'plants.ndjson');
  writeFileSync(file, '{"id":1,"name":"Alder"}\n');
  await withoutSync(async () => {
    for (const [says, ...args] of [
      [/with fsync=off, .*--accept-lost-commits\n$/, 'serve', '--port', '0'],
      [/with fsync=off, .*--accept-lost-commits\n$/, 'import', file],
      [/: there is nothing to prove: with fsync=off, .*\n$/, 'prove'],
    ] as const)
      failed(await runHere([...args, ...on(url)], { PLANT_STORE_TOKEN: 'x'.repeat(40) }), says);
    const { code, lines } = await diagnose(url);
    assert.equal(code, 1);
    const says = /^error with fsync=off, a crash of the machine .* --accept-lost-commits$/;
    assert.match(lines['durability'] ?? '', says);
  });
  const tables = 'SELECT * FROM pg_tables WHERE schemaname = current_schema()';
  assert.deepEqual(await server.query(tables, url), []);
});

test('a database that may lose what it has committed is used by who accepts that, and the service warns of it', async (t) => {
  const url = await server.makeDatabase();
  await withoutSync(async () => {
    const args = [...oneThread, '--accept-lost-commits'];
    const { plantsUrl, stderr } = await startServer(t, url, args);
    assert.match(stderr(), /"warn".*"a 200 means: with fsync=off, a crash of the machine/);
    assert.equal((await create(plantsUrl, { id: 1, name: 'Alder' })).status, 200);
  });
});

const changes: Record<string, [setting: string, bad: string, good: string, says: string]> = {
  'no longer syncs them': ['fsync', 'off', 'on', 'with fsync=off'],
  'is made read-only': ['default_transaction_read_only', 'on', 'off', 'it is read-only'],
};

for (const [what, [setting, bad, good, says]] of Object.entries(changes)) {
  test(`a running service takes no plants once its database ${what}, and does again when that is mended`, {
    timeout: 120_000,
  }, async (t) => {
    const { plantsUrl, opsUrl, logged } = await startServer(
      t,
      await server.makeDatabase(),
      oneThread,
    );
    const isReady = async () => (await fetch(`${opsUrl}readyz`)).ok;
    assert.equal((await create(plantsUrl, { id: 1, name: 'Alder' })).status, 200);
    await server.set(setting, bad);
    try {
      // No create has told of it: the heartbeat has.
      await until(isReady, (ready) => !ready);
      const reply = await create(plantsUrl, { id: 2, name: 'Birch' });
      assert.equal(((await reply.json()) as { error: number }).error, 50301);
      assert.equal(reply.status, 503);
      await logged((stderr) => stderr.includes(says));
    } finally {
      await server.set(setting, good);
    }
    await until(isReady, Boolean);
    await createdAtLast(plantsUrl, { id: 2, name: 'Birch' });
  });
}

test('a plant is on the disk when it is acknowledged, although the settings of the server do not wait for that', {
  timeout: 120_000,
}, async (t) => {
  const lazy = await startPostgres(t, { wal_writer_delay: '10s', autovacuum: 'off' });
  const url = await lazy.makeDatabase();
  const { plantsUrl } = await startServer(t, url, oneThread);
  assert.equal((await create(plantsUrl, { id: 1, name: 'Alder' })).status, 200);
  await lazy.set('synchronous_commit', 'off');
  for (const id of [2, 3, 4])
    assert.equal((await create(plantsUrl, { id, name: 'Alder' })).status, 200);
  await lazy.kill();
  await lazy.start();
  assert.deepEqual(await lazy.query('SELECT count(*)::int FROM plants', url), [{ count: 4 }]);
});
