import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { postgresLocation } from '../../../src/cli/flags/postgres-location.ts';
import { limits } from '../../../src/limits.ts';
import { openPostgresStore } from '../../../src/store/postgres/store.ts';
import { queueOn } from '../../helpers/commit-queue.ts';
import { sharedPostgres } from '../../helpers/postgres.ts';
import { connectTo } from '../../helpers/postgres-connection.ts';

const server = await sharedPostgres({ after });

/** A queue on a real store, and a transaction of another client in the same database. */
async function openQueue(t: TestContext) {
  const url = await server.makeDatabase();
  const store = await openPostgresStore(postgresLocation(url, {}), {
    callMs: 10_000,
    mayMake: true,
  });
  t.after(() => store.close());
  const { client } = await connectTo(t, url);
  await client.query('BEGIN');
  const insertElsewhere = (id: bigint) =>
    client.query(`INSERT INTO plants VALUES (${id}, 'plant of others', NULL, 0, 0)`);
  return {
    ...queueOn(store),
    insertElsewhere,
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
  assert.deepEqual(batches, [...ids.map(() => 1), 2]);
});
