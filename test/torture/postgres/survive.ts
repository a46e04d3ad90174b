import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { nameOfDatabase, type PostgresServer } from '../../helpers/postgres.ts';
import { type Owner, startServer, temporaryFolder } from '../../helpers/program.ts';
import { startProxy } from '../../helpers/tcp-proxy.ts';
import type { Fault, Setting } from './faults.ts';
import { startLoad } from './load.ts';
import { accountOf, assertPromisesKept } from './promises.ts';
import { plantsIn } from './stored.ts';

/** Long enough for every deadline to be met. */
const faultMs = 6_000;

/** Two nodes on a new database. */
export interface Nodes extends Omit<Setting, 'load' | 'faultMs'> {
  /** Of the database. */
  readonly url: string;
}

export async function startNodes(
  owner: Owner,
  database: PostgresServer,
  ...args: string[]
): Promise<Nodes> {
  const url = await database.makeDatabase();
  const proxy = await startProxy(owner, database.port);
  const startNode = () =>
    startServer(owner, url.replace(`:${database.port}/`, `:${proxy.port}/`), args);
  return { url, database, proxy, startNode, nodes: await Promise.all([startNode(), startNode()]) };
}

/**
 * Loads the nodes on a database without plants, does harm, and asserts that they keep their
 * promises and the database has all plants.
 */
export async function assertSurvive(
  t: TestContext,
  { url, ...setting }: Nodes,
  fault: Fault,
): Promise<void> {
  await setting.database.query('TRUNCATE plants', nameOfDatabase(url));
  const load = startLoad(await temporaryFolder(t), Math.floor(Math.random() * 2 ** 24), 25);
  for (const node of setting.nodes) load.add(node);

  const account = await accountOf(load, () => fault({ ...setting, load, faultMs }), 30);

  const { violations, counts } = await load.end(() => plantsIn(url));
  t.diagnostic(JSON.stringify({ ...account, counts }));
  assert.deepEqual(violations, []);
  assertPromisesKept(account);
}
