import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { postgresLocation } from '../../../src/cli/flags/postgres-location.ts';
import { limits } from '../../../src/limits.ts';
import type { Place } from '../../../src/store/plant-search.ts';
import { byId, newestFirst, plantWindow } from '../../../src/store/postgres/plant-rows.ts';
import { openPostgresStore } from '../../../src/store/postgres/store.ts';
import { queryOn } from '../../../src/store/postgres/transaction.ts';
import { queueOn } from '../../helpers/commit-queue.ts';
import { sharedPostgres } from '../../helpers/postgres.ts';
import { connectTo } from '../../helpers/postgres-connection.ts';
import type { Owner } from '../../helpers/program.ts';
import { storeSuite } from '../store-suite.ts';

const server = await sharedPostgres({ after });
const url = await server.makeDatabase();
const tables = ['plants', 'tokens', 'sessions', 'backups', 'heartbeat'];

const open = () => openPostgresStore(postgresLocation(url, {}), { callMs: 10_000, mayMake: true });
await (await open()).close();

/** A store as empty as a new one, which would take ten times as long. */
async function emptyStore(owner: Owner) {
  await server.query(tables.map((table) => `DELETE FROM ${table}`).join(';'), url);
  const store = await open();
  owner.after(() => store.close());
  return store;
}

storeSuite('postgres', emptyStore);

test('few matches are found by one scan, in the order of the list and from its place on', async (t) => {
  await emptyStore(t);
  const query = queryOn(await connectTo(t, url));
  await query(`INSERT INTO plants SELECT id, 'Alder', id % 1000, -id, 0
    FROM generate_series(1, 20000) AS ids (id)`);
  const idsFound = async (order: typeof byId, place: Place, limit: number) => {
    const wanted = { tag: '7', limit };
    const { plants, ...found } = await plantWindow(query, order, place, Infinity, wanted);
    return [plants.map(({ id }) => Number(id)), found.isWhole];
  };
  assert.deepEqual(await idsFound(byId, [16_007n], 9), [[17_007, 18_007, 19_007], true]);
  assert.deepEqual(await idsFound(byId, [16_007n], 2), [[17_007, 18_007], false]);
  const place = [-16_007n, 16_007n];
  assert.deepEqual(await idsFound(newestFirst, place, 2), [[17_007, 18_007], false]);
});

test('the heartbeat of a stopped node whose clock was ahead is forgotten', async () => {
  const ahead = await open();
  await ahead.beat(Date.now() + 400 * 24 * 3_600_000);
  await ahead.close();
  const store = await open();
  const atMs = Date.now();
  await store.beat(atMs);
  assert.equal(await store.lastBeat(), atMs);
  await store.close();
});

/** A queue on a store, and a transaction of another client in the same database. */
async function openQueue(t: TestContext) {
  const queue = queueOn(await emptyStore(t));
  const { client } = await connectTo(t, url);
  await client.query('BEGIN');
  return {
    ...queue,
    insertElsewhere: (id: bigint) =>
      client.query(`INSERT INTO plants VALUES (${id}, 'plant of others', NULL, 0, 0)`),
    endElsewhere: (how: 'COMMIT' | 'ROLLBACK') => client.query(how),
  };
}

test('a transaction that is held up does not hold up the next one', async (t) => {
  const { offer, nextBatch, insertElsewhere, endElsewhere } = await openQueue(t);
  await insertElsewhere(1n);
  const begun = nextBatch();
  const heldUp = offer(1n);
  await begun;
  assert.equal(await offer(2n).settled, 'created');
  await endElsewhere('COMMIT');
  assert.equal(await heldUp.settled, 'taken');
});

test('while as many transactions are under way as may be, the next one gathers', async (t) => {
  const { batches, offer, nextBatch, insertElsewhere, endElsewhere } = await openQueue(t);
  const ids = Array.from({ length: limits.postgres.batchesMax }, (_, index) => BigInt(index + 1));
  const heldUp = [];
  for (const id of ids) {
    await insertElsewhere(id);
    const begun = nextBatch();
    heldUp.push(offer(id).settled);
    await begun;
  }
  const gathering = [101n, 102n].map((id) => offer(id).settled);
  await new Promise(setImmediate);
  const ofOneEach = ids.map(() => 1);
  assert.deepEqual(batches, ofOneEach);
  await endElsewhere('ROLLBACK');
  assert.deepEqual(new Set(await Promise.all([...heldUp, ...gathering])), new Set(['created']));
  assert.deepEqual(batches, [...ofOneEach, 2]);
});
