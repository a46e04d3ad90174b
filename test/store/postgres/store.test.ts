import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { postgresLocation } from '../../../src/cli/flags/postgres-location.ts';
import type { Place } from '../../../src/store/plant-search.ts';
import { byId, newestFirst, plantWindow } from '../../../src/store/postgres/plant-rows.ts';
import { ensureSchema } from '../../../src/store/postgres/schema.ts';
import { openPostgresStore } from '../../../src/store/postgres/store.ts';
import { queryOn } from '../../../src/store/postgres/transaction.ts';
import { nameOfDatabase, sharedPostgres } from '../../helpers/postgres.ts';
import { connectTo } from '../../helpers/postgres-connection.ts';
import { storeSuite } from '../store-suite.ts';

const callMs = 10_000;
const server = await sharedPostgres({ after });
const database = await server.makeDatabase();

const open = () => openPostgresStore(postgresLocation(database, {}), { callMs, mayMake: true });

storeSuite('postgres', async (owner) => {
  // As empty as a new database, which would take three times as long.
  await server.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public', nameOfDatabase(database));
  const store = await open();
  owner.after(() => store.close());
  return store;
});

test('few matches are found by one scan, in the order of the list and from its place on', async (t) => {
  const connection = await connectTo(t, await server.makeDatabase());
  const query = queryOn(connection);
  await ensureSchema(query);
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
