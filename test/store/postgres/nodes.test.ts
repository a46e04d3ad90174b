import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import pg from 'pg';
import { limits } from '../../../src/limits.ts';
import { pause, untilInForce } from '../../helpers/pause.ts';
import { startPostgres, untilRow } from '../../helpers/postgres.ts';
import {
  create,
  createdAtLast,
  oneThread,
  type RunningServer,
  startServer,
} from '../../helpers/program.ts';
import { done, on } from '../../helpers/run-here.ts';
import { storedToken } from '../../helpers/stored-token.ts';
import { startProxy } from '../../helpers/tcp-proxy.ts';
import { underWay } from '../../helpers/under-way.ts';
import { plantsIn } from '../../torture/history/stored.ts';

const database = await startPostgres({ after }, { log_lock_waits: 'on', deadlock_timeout: '20ms' });
const url = await database.makeDatabase();
// However slow the machine is, none gives up a create.
const flags = [...oneThread, '--commit-timeout', '60s'];
const nodes = await Promise.all([1, 2].map(() => startServer({ after }, url, flags)));

/** Locks an id by a transaction of another program, until the transaction ends. */
async function holdId(t: TestContext, url: string, id: number): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  t.after(() => client.end());
  await client.query('BEGIN');
  await client.query('INSERT INTO plants VALUES ($1, $2, NULL, 0, 0)', [id, 'held']);
  return client;
}

/** Finds a row if the given number of transactions wait for a lock. */
function waiting(transactions: number): string {
  const inserts = "wait_event_type = 'Lock' AND query LIKE '%INSERT INTO plants%'";
  return `SELECT FROM pg_stat_activity WHERE ${inserts} HAVING count(*) >= ${transactions}`;
}

test('two nodes that are sent the same ids in different orders never lock each other out, and one plant has each id', async (t) => {
  const statuses: Record<number, number> = {};
  const acknowledged = new Map<string, string>();
  const send = async (id: number, node: number): Promise<void> => {
    // Of every third plant each node is told something else.
    const name = id % 3 === 0 ? `plant ${id} of node ${node}` : `plant ${id}`;
    const reply = await create(nodes[node]?.plantsUrl ?? '', { id, name });
    // A busy node may have read its tokens too late.
    if ((await reply.text()).includes('The token cannot be checked')) return send(id, node);
    const { status } = reply;
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (status === 200) acknowledged.set(`${id}`, name);
  };

  for (let round = 0; round < 2; round += 1) {
    const holder = await holdId(t, url, 90 * round + 45);
    const ids = Array.from({ length: 90 }, (_, index) => 90 * round + index);
    const orders = [ids, ids.toSorted((a, b) => (b % 13) - (a % 13))];
    const sent = orders.flatMap((order, node) => order.map((id) => send(id, node)));
    // So that they do meet: until then, all that has come to a node gathers behind what waits.
    await untilRow(database, waiting(nodes.length));
    await holder.query('ROLLBACK');
    await Promise.all(sent);
  }

  assert.deepEqual(statuses, { 200: 60 + 2 * 120, 400: 60 });
  const stored = await plantsIn(url);
  assert.equal(stored.size, 180);
  for (const { id, name } of stored.values()) assert.equal(acknowledged.get(id), name);
  assert.doesNotMatch(database.log(), /deadlock detected/);
});

test('a create that waits for a lock holds up no other', async (t) => {
  const { plantsUrl = '' } = nodes[0] ?? {};
  const status = async (id: number) => (await create(plantsUrl, { id, name: 'Oak' })).status;
  const holder = await holdId(t, url, 1_000);
  const held = underWay(status(1_000));
  await untilRow(database, waiting(1));

  for (let id = 1_001; id < 1_020; id += 1) assert.equal(await status(id), 200);

  assert.equal(await Promise.race([held, 'waits']), 'waits');
  await holder.query('ROLLBACK');
  assert.equal(await held, 200);
});

test('a create that waits for a lock for longer than a create may take gets 503, unless the node stood still and the database has stored it meanwhile', async (t) => {
  const url = await database.makeDatabase();
  const { plantsUrl, child } = await startServer(t, url, oneThread);
  const holder = await holdId(t, url, 2);
  assert.equal((await create(plantsUrl, { id: 2, name: 'Oak' })).status, 503);
  await holder.query('ROLLBACK');
  await createdAtLast(plantsUrl, { id: 2, name: 'Oak' });

  const nextHolder = await holdId(t, url, 5);
  const sentMs = performance.now();
  const reply = underWay(create(plantsUrl, { id: 5, name: 'Oak' }));
  await untilRow(database, waiting(1));
  child.kill('SIGSTOP');
  await nextHolder.query('ROLLBACK');
  while (!(await plantsIn(url)).has('5') || performance.now() < sentMs + limits.store.commitMs)
    await pause();

  child.kill('SIGCONT');

  assert.equal((await reply).status, 200);
});

test('a revoked token is refused by every node within 2 seconds, also by one that the database does not answer', async (t) => {
  const proxy = await startProxy(t, database.port);
  const [near = assert.fail()] = nodes;
  const cutOff = await startServer(t, url.replace(`:${database.port}/`, `:${proxy.port}/`));
  const bearer = { Authorization: `Bearer ${await storedToken(url, 'greenhouse')}` };
  const statusOf = (node: RunningServer) => async () =>
    (await create(node.plantsUrl, { id: -1, name: 'Alder' }, bearer)).status;
  // Each thread learns of it by itself.
  for (const node of [near, cutOff])
    await untilInForce(statusOf(node), 401, 200, { inRow: 10, withinMs: 60_000 });

  proxy.swallow('replies');
  await done('token', 'revoke', 'greenhouse', ...on(url));

  await Promise.all([
    untilInForce(statusOf(near), 200, 401),
    untilInForce(statusOf(cutOff), 200, 503),
  ]);
});
