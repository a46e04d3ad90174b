import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startPostgres } from '../../helpers/postgres.ts';
import { runAsCommand } from '../command.ts';
import { seededRandom } from '../workload.ts';
import { databaseFaults, type Fault, networkFaults, nodeFaults, type Setting } from './faults.ts';
import { startLoad } from './load.ts';
import { accountOf, assertAnswered, assertPromisesKept } from './promises.ts';
import { plantsIn } from './stored.ts';
import { startNodes } from './survive.ts';

/*
 * Does harm to a PostgreSQL server, to its network and to the two nodes on it, at random and again
 * and again, while clients create plants. Each time the nodes must keep their promises; at the end
 * the database is compared with the journal of the clients.
 */

/** Of a database that stands still. */
const faultMs = 60_000;

interface Harm extends Omit<Setting, 'faultMs'> {
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

await runAsCommand(
  'postgres',
  { minutes: 10 },
  async ({ folder, owner, minutes, seed, report }) => {
    mkdirSync(join(folder, 'database'));
    const database = await startPostgres(owner, {}, join(folder, 'database'));
    const { url, ...setting } = await startNodes(owner, database);
    const load = startLoad(folder, seed);
    for (const node of setting.nodes) load.add(node);
    const endMs = performance.now() + 60_000 * minutes;
    const random = seededRandom(seed);
    let faults = 0;
    for (; performance.now() < endMs; faults += 1)
      await doHarm({ ...setting, load, random, report });
    const { violations, counts } = await load.end(() => plantsIn(url));
    return { violations, summary: `${faults} faults, and the journal ${JSON.stringify(counts)}` };
  },
);
