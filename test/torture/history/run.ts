import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Citus, startCitus } from '../../helpers/citus.ts';
import { type PatroniCluster, startPatroni } from '../../helpers/patroni.ts';
import { type Owner, startImpatient, startServer, temporaryFolder } from '../../helpers/program.ts';
import { type CheckReport, readStore, type SentPlant } from '../check-journal.ts';
import { runAsCommand } from '../command.ts';
import { seededRandom } from '../workload.ts';
import { citusFaults } from './citus.ts';
import {
  type Cluster,
  type ClusterOptions,
  clusterFaults,
  lossFaults,
  startCluster,
} from './cluster.ts';
import {
  databaseFaults,
  type Fault,
  type NodeSetting,
  networkFaults,
  nodeFaults,
  stillNodeFaults,
  storeFaults,
} from './faults.ts';
import { type LoadOptions, startLoad } from './load.ts';
import { patroniFaults } from './patroni.ts';
import {
  accountOf,
  assertAnswered,
  assertDocumented,
  assertOthersServe,
  assertPromisesKept,
} from './promises.ts';
import { plantsIn } from './stored.ts';

/*
 * Many clients send conflicting plants to several nodes, while harm is done to the nodes, and to
 * the servers that have the plants. The clients write down what they send and when, and what they
 * are told and when. At the end, the plants must be what a register for each id would be that is
 * written once.
 */

interface HistoryOptions extends LoadOptions {
  /** At least, and until each of the faults has come as often as the others. */
  readonly operations: number;
  readonly operationsPerFault: number;
  readonly report: (line: string) => void;
}

type Started = Omit<NodeSetting, 'load' | 'victim' | 'upTo'> & {
  /** After each fault. */
  repair?(): Promise<void>;
  readStore(): Promise<ReadonlyMap<string, SentPlant>>;
};

/** One round of the faults, beside other tests. */
export async function shortForm(t: TestContext): Promise<HistoryOptions> {
  const seed = Math.floor(Math.random() * 2 ** 24);
  const report = (line: string) => t.diagnostic(`seed ${seed}: ${line}`);
  const pace = { operations: 1, operationsPerFault: 200, lanesPerNode: 4, pauseMs: 10 };
  return { ...pace, folder: await temporaryFolder(t), seed, report };
}

/** Each of the faults comes once before any comes again. */
export async function runHistory<S extends Started>(
  setting: S,
  faults: Readonly<Record<string, Fault<S & NodeSetting>>>,
  options: HistoryOptions,
): Promise<CheckReport> {
  const { operations, operationsPerFault, seed, report } = options;
  const load = startLoad(options);
  for (const node of setting.nodes) load.add(node);
  const random = seededRandom(seed);
  const upTo = (max: number) => Math.floor(random() * max);
  const broken: string[] = [];
  let left: [string, Fault<S & NodeSetting>][] = [];
  do {
    await load.settled(upTo(2 * operationsPerFault));
    if (left.length === 0) left = Object.entries(faults);
    const [[what, fault] = assert.fail()] = left.splice(upTo(left.length), 1);
    const harmed = { ...setting, load, upTo, victim: upTo(setting.nodes.length) };
    const atAnyMoment = () => load.settled(upTo(64)).then(() => fault(harmed));
    const account = await accountOf(load, atAnyMoment, 30);
    report(`${load.operations()} operations, and ${what}: ${JSON.stringify(account)}`);
    try {
      assertDocumented(account);
      if (account.isHeldUp) report(`the machine was too busy to judge ${what}`);
      else if (what in nodeFaults) assertOthersServe(account);
      else if (what in stillNodeFaults || what in storeFaults) assertAnswered(account);
      else assertPromisesKept(account);
    } catch (error) {
      broken.push(`${what}: ${(error as Error).message}`);
    }
    await setting.repair?.();
    await load.inService(10);
    load.seen();
  } while (load.operations() < operations || left.length > 0);
  const { violations, counts } = await load.end(setting.readStore);
  return { violations: [...broken, ...violations], counts };
}

/** Two processes have one store. */
async function historyOnSqlite(owner: Owner, options: HistoryOptions): Promise<CheckReport> {
  const store = join(options.folder, 'plants.db');
  const startNode = (_: number, ...args: string[]) => startServer(owner, store, args);
  const damage: string[] = [];
  const setting = {
    store,
    nodes: [await startNode(0), await startNode(1)],
    startNode,
    readStore: async () => readStore(store, damage),
  };
  const faults = { ...nodeFaults, ...stillNodeFaults, ...storeFaults };
  const report = await runHistory(setting, faults, options);
  return { ...report, violations: [...damage, ...report.violations] };
}

/** Three nodes have one store in a database with a standby. */
export async function historyOnPostgres(
  owner: Owner,
  options: HistoryOptions,
  faults: Readonly<Record<string, Fault<Cluster & NodeSetting>>>,
  { isSynchronous = true, faultMs = 60_000, args = [] }: Partial<ClusterOptions> = {},
): Promise<CheckReport> {
  const cluster = await startCluster(owner, { isSynchronous, faultMs, args });
  return runHistory(cluster, faults, options);
}

/** Two nodes have one store, whose plants are on two workers. */
export async function historyOnCitus(
  owner: Owner,
  options: HistoryOptions,
  citus: Citus,
  faultMs = 60_000,
): Promise<CheckReport> {
  const url = await citus.makeStore();
  const startNode = (_: number, ...args: string[]) => startServer(owner, url, args);
  const nodes = [await startNode(0), await startNode(1)];
  const readStore = async () => {
    // What was committed while a worker was away is invisible until then.
    await citus.coordinator.query('SELECT recover_prepared_transactions()', url);
    return plantsIn(url);
  };
  return runHistory({ ...citus, faultMs, nodes, startNode, readStore }, citusFaults, options);
}

/** Three nodes have one store in a database whose primary Patroni chooses. */
export async function historyOnPatroni(
  owner: Owner,
  options: HistoryOptions,
  cluster: PatroniCluster,
): Promise<CheckReport> {
  const { url } = cluster;
  const startNode = (_: number, ...args: string[]) =>
    startImpatient(owner, url, ['--min-standbys', '1', ...args]);
  const nodes = [await startNode(0), await startNode(1), await startNode(2)];
  const readStore = async () =>
    plantsIn(url.replace(/@.*\//, `@127.0.0.1:${(await cluster.primary()).port}/`));
  return runHistory({ ...cluster, nodes, startNode, readStore }, patroniFaults, options);
}

/** If the run finds no losses where there are some, it would find no others. */
export async function findsLosses(
  owner: Owner,
  options: HistoryOptions,
  args: readonly string[] = [],
): Promise<readonly string[]> {
  const setting = { isSynchronous: false, args };
  const { violations } = await historyOnPostgres(owner, options, lossFaults, setting);
  return violations.some((text) => text.endsWith('it was answered 200 and is not in the store'))
    ? []
    : ['the losses of a standby that has fallen behind were not found'];
}

if (import.meta.main) {
  const ofCluster = {
    ...{ ...databaseFaults, ...networkFaults, ...clusterFaults },
    ...{ ...nodeFaults, ...stillNodeFaults },
  };
  const operations = { sqlite: 200_000, postgres: 200_000, patroni: 0, citus: 0 };
  await runAsCommand('history', operations, async (run) => {
    const { folder, owner, sqlite, postgres, patroni, citus, seed, report } = run;
    const part = (name: string, operations: number) => {
      mkdirSync(join(folder, name));
      const pace = { operationsPerFault: 500, lanesPerNode: 16, pauseMs: 0 };
      return { ...pace, folder: join(folder, name), operations, seed, report };
    };
    const found: CheckReport[] = [];
    if (sqlite > 0) found.push(await historyOnSqlite(owner, part('sqlite', sqlite)));
    if (postgres > 0)
      found.push(await historyOnPostgres(owner, part('postgres', postgres), ofCluster));
    if (patroni > 0) {
      const cluster = await startPatroni(owner);
      found.push(await historyOnPatroni(owner, part('patroni', patroni), cluster));
    }
    if (citus > 0) {
      const started = (await startCitus(owner)) ?? assert.fail('TEST_POSTGRES_BIN has no Citus');
      found.push(await historyOnCitus(owner, part('citus', citus), started));
    }
    const losses = postgres > 0 ? await findsLosses(owner, part('losses', 1)) : [];
    return {
      violations: [...found.flatMap(({ violations }) => violations), ...losses],
      summary: found.map(({ counts }) => JSON.stringify(counts)).join(', '),
    };
  });
}
