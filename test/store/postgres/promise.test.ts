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

/** Without WAL senders, it waits for no standby. It syncs nothing soon that nobody waits for. */
const server = await startPostgres(
  { after },
  {
    ...{ max_wal_senders: '0', synchronous_standby_names: '*' },
    ...{ wal_writer_delay: '10s', autovacuum: 'off' },
  },
);
const url = await server.makeDatabase();
const args = [...oneThread, '--log-format', 'text'];
/** For all tests in their order. */
const node = await startServer({ after }, url, args);
const { plantsUrl, stdout, stderr, logged } = node;

const status = async (id: number) => (await create(plantsUrl, { id, name: 'Alder' })).status;
const isReady = async () => (await fetch(`${node.opsUrl}readyz`)).ok;

test('the service says at its start what a 200 means on its database', async () => {
  assert.match(
    stderr(),
    /a 200 means: each plant is on the disk of the server before .*; a standby /,
  );
  // The welcome comes after the line that says that it is ready.
  while (!stdout().includes('curl') && node.child.stdout) await once(node.child.stdout, 'data');
  assert.match(stdout(), /^ {2}a 200 {4}each plant is on the disk of the server before it is /m);
});

const changes: Record<string, [setting: string, bad: string, good: string, says: string]> = {
  'no longer syncs them': ['fsync', 'off', 'on', 'with fsync=off'],
  'is made read-only': ['default_transaction_read_only', 'on', 'off', 'it is read-only'],
};

for (const [id, [what, [setting, bad, good, says]]] of Object.entries(changes).entries()) {
  test(`a running service takes no plants once its database ${what}, and does again when that is mended`, async () => {
    const begun = stderr().length;
    const tells = (says: string) => logged((text) => text.slice(begun).includes(says));
    await server.set(setting, bad);
    try {
      // No create has told of it: the heartbeat has.
      await until(isReady, (ready) => !ready);
      const reply = await create(plantsUrl, { id: 10 + id, name: 'Birch' });
      assert.equal(((await reply.json()) as { error: number }).error, 50301);
      assert.equal(reply.status, 503);
      await tells(says);
    } finally {
      await server.set(setting, good);
    }
    await until(isReady, Boolean);
    await createdAtLast(plantsUrl, { id: 10 + id, name: 'Birch' });
    await tells('creates are stored again');
  });
}

test('a plant is on the disk when it is acknowledged, although the settings of the server do not wait for that', async () => {
  assert.equal(await status(1), 200);
  await server.set('synchronous_commit', 'off');
  for (const id of [2, 3, 4]) assert.equal(await status(id), 200);
  await server.kill();
  await server.start();
  assert.deepEqual(await server.query('SELECT count(*)::int FROM plants', url), [{ count: 6 }]);
});

test('a database that may lose what it has committed is refused, prove and doctor say so, and nothing is made in it; who accepts that is warned', async (t) => {
  await node.stop('SIGKILL');
  await server.set('fsync', 'off');
  const url = await server.makeDatabase();
  const file = join(await temporaryFolder(t), 'plants.ndjson');
  writeFileSync(file, '{"id":1,"name":"Alder"}\n');
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
  const tables = 'SELECT * FROM pg_tables WHERE schemaname = current_schema()';
  assert.deepEqual(await server.query(tables, url), []);

  const accepts = await startServer(t, url, [...oneThread, '--accept-lost-commits']);
  assert.match(accepts.stderr(), /"warn".*"a 200 means: with fsync=off, a crash of the machine/);
  assert.equal((await create(accepts.plantsUrl, { id: 1, name: 'Alder' })).status, 200);
});
