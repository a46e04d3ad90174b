import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { postgresLocation } from '../../src/config/postgres-location.ts';
import { openPostgresStore } from '../../src/store/postgres/store.ts';
import { nameOfDatabase, startPostgres } from '../helpers/postgres.ts';
import { storeSuite } from './store-suite.ts';

const callMs = 10_000;
const server = await startPostgres({ after });
const database = await server.makeDatabase();

const open = () =>
  openPostgresStore(postgresLocation(database, {}), { callMs, acceptsLostCommits: false }, true);

storeSuite('postgres', async (owner) => {
  // As empty as a new database, which would take three times as long.
  await server.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public', nameOfDatabase(database));
  const store = await open();
  owner.after(() => store.close());
  return store;
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
