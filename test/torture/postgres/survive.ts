import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { PostgresServer } from '../../helpers/postgres.ts';
import { startServer, temporaryFolder } from '../../helpers/program.ts';
import { startProxy } from '../../helpers/tcp-proxy.ts';
import type { Fault } from './faults.ts';
import { startLoad } from './load.ts';
import { accountOf, assertPromisesKept } from './promises.ts';
import { plantsIn } from './stored.ts';

/** Long enough for every deadline to be met. */
const faultMs = 8_000;

/** Loads two nodes on a new database, does harm, and asserts that the nodes keep their promises and the database has all plants. */
export async function assertSurvives(t: TestContext, database: PostgresServer, fault: Fault, ...args: string[]): Promise<void> {
  const url = await database.makeDatabase();
  const proxy = await startProxy(t, database.port);
  const store = url.replace(`:${database.port}/`, `:${proxy.port}/`);
  const startNode = () => startServer(t, store, args);
  const nodes = await Promise.all([startNode(), startNode()]);
  const load = startLoad(await temporaryFolder(t), Math.floor(Math.random() * 2 ** 24));
  for (const node of nodes) load.add(node);

  const account = await accountOf(load, () => fault({ database, proxy, nodes, startNode, load, faultMs }));

  const { violations, counts } = await load.end(() => plantsIn(url));
  t.diagnostic(JSON.stringify({ ...account, counts }));
  assert.deepEqual(violations, []);
  assertPromisesKept(account);
}
