import { after } from 'node:test';
import { postgresLocation } from '../../src/config/postgres-location.ts';
import { openPostgresStore } from '../../src/store/postgres/store.ts';
import { startPostgres } from '../helpers/postgres.ts';
import { storeSuite } from './store-suite.ts';

const callMs = 10_000;
const server = await startPostgres({ after });

storeSuite('postgres', async (owner) => {
  const store = await openPostgresStore(postgresLocation(await server.makeDatabase(), {}), { callMs, acceptsLostCommits: false });
  owner.after(() => store.close());
  return store;
});
