import { after } from 'node:test';
import { postgresLocation } from '../../src/config/postgres/location.ts';
import { openPostgresStore } from '../../src/store/postgres/store.ts';
import { nameOfDatabase, startPostgres } from '../helpers/postgres.ts';
import { storeSuite } from './store-suite.ts';

const callMs = 10_000;
const server = await startPostgres({ after });
const database = await server.makeDatabase();

storeSuite('postgres', async (owner) => {
  // As empty as a new database, which would take three times as long.
  await server.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public', nameOfDatabase(database));
  const store = await openPostgresStore(postgresLocation(database, {}), {
    callMs,
    acceptsLostCommits: false,
    mayMake: true,
  });
  owner.after(() => store.close());
  return store;
});
