import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { engineOf } from '../../../src/store/engines.ts';
import {
  type PoolerName,
  type PoolerSettings,
  startPooler,
  versionOf,
} from '../../helpers/poolers.ts';
import { startPostgres } from '../../helpers/postgres.ts';
import { locationOf } from '../../helpers/postgres-connection.ts';
import { skipVisibly } from '../../helpers/skips.ts';
import { storeSuite } from '../store-suite.ts';

const callMs = 10_000;
const server = await startPostgres({ after });

/** PgBouncer keeps prepared statements from 1.21 on. */
const keepsStatements = Number(versionOf('pgbouncer')?.replace('1.', '')) >= 21;

await suiteThrough('pgbouncer', keepsStatements ? { prepared: 0 } : {});
if (keepsStatements) await suiteThrough('pgbouncer', { prepared: 200 });
// No distribution or registry has pgcat: its place in the PATH is for those who have built it.
if (versionOf('pgcat') === undefined) test('pgcat', (t) => t.skip('pgcat is not installed'));
else for (const prepared of [0, 500]) await suiteThrough('pgcat', { prepared });

/** Two connections for all that the suite opens. */
async function suiteThrough(pooler: PoolerName, settings: PoolerSettings) {
  const version = versionOf(pooler);
  if (version === undefined)
    return void test(pooler, (t) => skipVisibly(t, `${pooler} is not installed`));
  const database = await server.makeDatabase();
  const { url } = await startPooler({ after }, pooler, database, { ...settings, connections: 2 });
  const title = `${pooler} ${version}, with ${settings.prepared ?? 'no'} prepared statements`;
  storeSuite(title, async (owner) => {
    const empty = 'DROP SCHEMA public CASCADE; CREATE SCHEMA public';
    await server.query(empty, database);
    const store = await engineOf(locationOf(url)).open({ callMs, mayMake: true });
    owner.after(() => store.close());
    assert(store.pooler);
    return store;
  });
}
