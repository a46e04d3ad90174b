import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type PostgresServer, startPostgres } from '../../helpers/postgres.ts';
import { type RunningServer, startServer } from '../../helpers/program.ts';
import { startProxy, type TcpProxy } from '../../helpers/tcp-proxy.ts';
import type { CheckReport } from '../check-journal.ts';
import { seededRandom } from '../workload.ts';
import { databaseFaults, type Fault, networkFaults, nodeFaults } from './faults.ts';
import { type Load, startLoad } from './load.ts';
import { accountOf, assertAnswered, assertPromisesKept } from './promises.ts';
import { plantsIn } from './stored.ts';

/*
 * Does harm to a PostgreSQL server, to its network and to the two nodes on it, at random and again
 * and again, while clients create plants. Each time the nodes must keep their promises; at the end
 * the database is compared with the journal of the clients.
 */

/** Of a database that stands still. */
const faultMs = 60_000;

interface Run {
  readonly folder: string;
  readonly minutes: number;
  readonly seed: number;
  readonly report: (line: string) => void;
}

async function torture({
  folder,
  minutes,
  seed,
  report,
}: Run): Promise<CheckReport & { readonly faults: number }> {
  await using stack = new AsyncDisposableStack();
  const owner = {
    after: (cleanup: () => unknown) => stack.defer(async () => void (await cleanup())),
  };
  mkdirSync(join(folder, 'database'));
  const database = await startPostgres(owner, {}, join(folder, 'database'));
  const proxy = await startProxy(owner, database.port);
  const url = await database.makeDatabase();
  const startNode = () => startServer(owner, url.replace(`:${database.port}/`, `:${proxy.port}/`));
  const nodes = await Promise.all([startNode(), startNode()]);
  const load = startLoad(folder, seed);
  for (const node of nodes) load.add(node);
  const endMs = performance.now() + 60_000 * minutes;
  const random = seededRandom(seed);
  let faults = 0;
  for (; performance.now() < endMs; faults += 1)
    await doHarm({ database, proxy, nodes, load, startNode, random, report });
  return { ...(await load.end(() => plantsIn(url))), faults };
}

interface Harm {
  readonly database: PostgresServer;
  readonly proxy: TcpProxy;
  readonly nodes: RunningServer[];
  readonly load: Load;
  readonly startNode: () => Promise<RunningServer>;
  readonly random: () => number;
  readonly report: (line: string) => void;
}

async function doHarm({ random, report, ...setting }: Harm): Promise<void> {
  const all: readonly [string, Fault][] = [databaseFaults, networkFaults, nodeFaults].flatMap(
    (faults) => Object.entries(faults),
  );
  const [what, fault] = all[Math.floor(random() * all.length)] ?? assert.fail();
  const account = await accountOf(setting.load, () => fault({ ...setting, faultMs }));
  report(`${what}: ${JSON.stringify(account)}`);
  // Clients of a node that is killed or stands still are cut off or wait.
  if (what in nodeFaults) assertAnswered(account);
  else assertPromisesKept(account);
}

async function command(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '10' },
      seed: { type: 'string', default: `${Math.floor(Math.random() * 2 ** 31)}` },
    },
  });
  const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
  assert(minutes > 0 && Number.isInteger(seed), 'usage: run.ts [--minutes N] [--seed N]');
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-postgres-'));
  console.log(`${minutes} minutes, seed ${seed}, in ${folder}`);
  const { violations, counts, faults } = await torture({
    folder,
    minutes,
    seed,
    report: console.log,
  });
  for (const violation of violations.slice(0, 20)) console.log(`VIOLATION ${violation}`);
  console.log(`the journal: ${JSON.stringify(counts)}`);
  if (violations.length > 0) {
    console.log(
      `FAILED: ${violations.length} violations after ${faults} faults; seed ${seed}; the journal and the database are in ${folder}`,
    );
    return 1;
  }
  console.log(
    `PASSED: ${faults} faults, no acknowledged plant was lost or changed, nothing refused was stored; seed ${seed}`,
  );
  rmSync(folder, { recursive: true });
  return 0;
}

process.exitCode = await command();
