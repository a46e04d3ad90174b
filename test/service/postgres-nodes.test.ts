import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import pg from 'pg';
import { pause } from '../helpers/pause.ts';
import { startPostgres } from '../helpers/postgres.ts';
import { untilRow } from '../helpers/postgres-pair.ts';
import {
  create,
  createdAtLast,
  oneThread,
  type RunningServer,
  startServer,
} from '../helpers/program.ts';
import { done, on } from '../helpers/run-here.ts';
import { storedToken } from '../helpers/stored-token.ts';
import { startProxy } from '../helpers/tcp-proxy.ts';
import { underWay } from '../helpers/under-way.ts';
import { plantsIn } from '../torture/history/stored.ts';

const database = await startPostgres({ after }, { log_lock_waits: 'on', deadlock_timeout: '20ms' });
const url = await database.makeDatabase();
const nodes = await Promise.all([1, 2, 3, 4].map(() => startServer({ after }, url, oneThread)));
const ofImpatient = await database.makeDatabase();
const flags = [...oneThread, '--commit-timeout', '1s'];
const impatient = await startServer({ after }, ofImpatient, flags);

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

test('four nodes that are sent the same ids in different orders never lock each other out, and one plant has each id', async (t) => {
  const statuses: Record<number, number> = {};
  const acknowledged = new Map<string, string>();
  const send = async (id: number, node: number) => {
    // Of every third plant each node is told something else.
    const name = id % 3 === 0 ? `plant ${id} of node ${node}` : `plant ${id}`;
    const { status } = await create(nodes[node]?.plantsUrl ?? '', { id, name });
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (status === 200) acknowledged.set(`${id}`, name);
  };

  for (let round = 0; round < 2; round += 1) {
    const holder = await holdId(t, url, 90 * round + 45);
    const ids = Array.from({ length: 90 }, (_, index) => 90 * round + index);
    const orders = [
      ids,
      ids.toReversed(),
      ids.toSorted((a, b) => (a % 17) - (b % 17)),
      ids.toSorted((a, b) => (b % 13) - (a % 13)),
    ];
    const sent = orders.flatMap((order, node) => order.map((id) => send(id, node)));
    // So that they do meet: until then, all that has come to a node gathers behind what waits.
    await untilRow(database, waiting(nodes.length));
    await holder.query('ROLLBACK');
    await Promise.all(sent);
  }

  assert.deepEqual(statuses, { 200: 60 + 4 * 120, 400: 3 * 60 });
  const stored = await plantsIn(url);
  assert.equal(stored.size, 180);
  for (const { id, name } of stored.values()) assert.equal(acknowledged.get(id), name);
  assert.doesNotMatch(database.log(), /deadlock detected/);
});

test('a create that waits for a lock gets 503 in bounded time, and holds up no other', async (t) => {
  const { plantsUrl } = impatient;
  assert.equal((await create(plantsUrl, { id: 1, name: 'Alder' })).status, 200);
  const holder = await holdId(t, ofImpatient, 2);
  const held = underWay(create(plantsUrl, { id: 2, name: 'Oak' }).then(({ status }) => status));
  await untilRow(database, waiting(1));
  let others = 0;

  while ((await Promise.race([held, undefined])) === undefined) {
    assert.equal((await create(plantsUrl, { id: 100 + others, name: 'Ash' })).status, 200);
    others += 1;
    await pause();
  }

  assert.equal(await held, 503);
  assert.equal((await create(plantsUrl, { id: 3, name: 'Elm' })).status, 200);
  await holder.query('ROLLBACK');
  await createdAtLast(plantsUrl, { id: 2, name: 'Oak' });
  assert(others > 10);
});

test('a node that stands still for longer than a create may take still acknowledges what the database has stored meanwhile', async (t) => {
  const { plantsUrl, child } = impatient;
  assert.equal((await create(plantsUrl, { id: 4, name: 'Alder' })).status, 200);
  const holder = await holdId(t, ofImpatient, 5);
  const sentMs = performance.now();
  const reply = underWay(create(plantsUrl, { id: 5, name: 'Oak' }));
  await untilRow(database, waiting(1));
  child.kill('SIGSTOP');
  await holder.query('ROLLBACK');
  while (!(await plantsIn(ofImpatient)).has('5') || performance.now() < sentMs + 1_500)
    await pause();

  child.kill('SIGCONT');

  assert.equal((await reply).status, 200);
});

/**
 * Sends creates until one gets another status than 200; none gets it later than a revocation is in
 * force. @returns that status
 */
async function statusAfter(
  revokedMs: number,
  { plantsUrl }: RunningServer,
  bearer: { readonly Authorization: string },
): Promise<number> {
  for (let id = -1; ; id -= 1) {
    const sentMs = performance.now();
    const { status } = await create(plantsUrl, { id, name: 'Alder' }, bearer);
    if (status !== 200) return status;
    assert(
      sentMs - revokedMs < 2_000,
      `a create that was sent ${sentMs - revokedMs} ms after the revocation got 200`,
    );
    await pause();
  }
}

test('a revoked token is refused by every node within 2 seconds, also by one that the database does not answer', async (t) => {
  const proxy = await startProxy(t, database.port);
  const near = nodes.slice(0, 1);
  const cutOff = await startServer(t, url.replace(`:${database.port}/`, `:${proxy.port}/`));
  const bearer = { Authorization: `Bearer ${await storedToken(url, 'greenhouse')}` };
  for (const { plantsUrl } of [...near, cutOff]) {
    // Each thread learns of it by itself.
    for (let inRow = 0; inRow < 10; inRow += 1) {
      const { status } = await create(plantsUrl, { id: -1, name: 'Alder' }, bearer);
      if (status === 200) continue;
      inRow = -1;
      await pause();
    }
  }

  proxy.swallow('replies');
  await done('token', 'revoke', 'greenhouse', ...on(url));

  const revokedMs = performance.now();
  const statuses = await Promise.all(
    [...near, cutOff].map((node) => statusAfter(revokedMs, node, bearer)),
  );
  assert.deepEqual(statuses, [401, 503]);
});
