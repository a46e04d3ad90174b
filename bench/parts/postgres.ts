/** The service on PostgreSQL, beside its bounds and beside programs that a user would write. */
import type { PostgresServer } from '../../test/helpers/postgres.ts';
import { canLimitTime, keepAllToCores, keepToCores, lastCore } from '../cores.ts';
import { withFreshDatabase, withServer } from '../database.ts';
import type { LoadResult } from '../generator/order.ts';
import { type Bench, measureRounds, type Timing } from '../part.ts';
import { type DriverRun, driveDatabase } from '../postgres-driver.ts';
import { ratio } from '../statistics.ts';
import { runOnFreshStore, runTarget, type TargetUnderLoad } from '../target-run.ts';
import { type PostgresTargetName, postgresTargets, type Target, targets } from '../targets.ts';
import { fullLoadConnections } from '../text.ts';

type ComparedTarget = PostgresTargetName | 'noop' | 'service';
export const comparedTargets: Record<ComparedTarget, Target> = {
  noop: targets.noop,
  service: targets.service,
  ...postgresTargets,
};

/**
 * `shared`: all processes have all cores. `own`: the database has the last core alone, and the load
 * generator is among the others. `limited`: all have all cores, but each node at most
 * `nodeCoreShare` of a core, as on a machine of that size.
 */
export type Cores = 'shared' | 'own' | 'limited';

/** On two cores, two nodes leave one core to the database and the load generator. */
export const nodeCoreShare = 0.5;

/** In the order in which they are measured. */
export const comparisons: Record<Cores, ComparedTarget[]> = {
  shared: ['noop', 'fastify', 'postgres', 'nodes'],
  own: ['service', 'postgres'],
  limited: ['postgres', 'nodes'],
};

export interface PostgresMeasurement extends LoadResult {
  target: ComparedTarget;
  cores: Cores;
  /** Null for a target that stores elsewhere. */
  plantsPerCommit: number | null;
}

interface PostgresRound {
  measurements: PostgresMeasurement[];
  /** On all cores. */
  driver: DriverRun;
}

export interface PostgresPart {
  settings: Timing;
  serverVersion: string;
  /** The database's core in `own`. Null where no core can be kept free. */
  databaseCore: number | null;
  /** Whether `limited` was measured. */
  isTimeLimited: boolean;
  rounds: PostgresRound[];
}

/** What the measurements of one run need. */
interface Run {
  server: PostgresServer;
  settings: Timing;
  bench: Bench;
}

export async function measurePostgres(settings: Timing, bench: Bench): Promise<PostgresPart> {
  const databaseCore = lastCore();
  const isTimeLimited = await canLimitTime();
  return withServer(bench.directory, async (server) => {
    const run: Run = { server, settings, bench };
    const rounds = await measureRounds(settings.rounds, bench, async () => {
      const { measurements, driver } = await measureSharing(run);
      if (databaseCore !== null) measurements.push(...(await measureApart(run, databaseCore)));
      if (isTimeLimited) measurements.push(...(await measureTargets(run, 'limited')));
      return { measurements, driver };
    });
    const [row] = await server.query('SHOW server_version');
    const serverVersion = `${row?.['server_version']}`;
    return { settings, serverVersion, databaseCore, isTimeLimited, rounds };
  });
}

async function measureSharing(run: Run): Promise<PostgresRound> {
  const measurements = await measureTargets(run, 'shared');
  const own = measurements.find(({ target }) => target === 'postgres');
  const batchPlants = Math.max(1, Math.round(own?.plantsPerCommit ?? 1));
  const driver = await withFreshDatabase(run.server, 'short', (store) =>
    driveDatabase(store, batchPlants, run.settings),
  );
  run.bench.progress(`  the driver alone: ${Math.round(driver.plantsPerSecond)} plants/s`);
  return { measurements, driver };
}

async function measureApart(run: Run, core: number): Promise<PostgresMeasurement[]> {
  keepAllToCores(run.server.pid, core, core);
  keepToCores(process.pid, 0, core - 1);
  const measurements = await measureTargets(run, 'own');
  keepAllToCores(run.server.pid, 0, core);
  keepToCores(process.pid, 0, core);
  return measurements;
}

function measureTargets(run: Run, cores: Cores): Promise<PostgresMeasurement[]> {
  return Array.fromAsync(comparisons[cores], async (target) => {
    const result = await measureTarget(run, cores, target);
    const rate = Math.round(result.createsPerSecond);
    run.bench.progress(`  ${comparedTargets[target].label}, ${cores} cores: ${rate} creates/s`);
    return { target, cores, ...result };
  });
}

async function measureTarget(
  { server, settings: { warmupMs, measureMs }, bench: { directory } }: Run,
  cores: Cores,
  name: ComparedTarget,
): Promise<Omit<PostgresMeasurement, 'target' | 'cores'>> {
  const limit = cores === 'limited' ? { coreShare: nodeCoreShare } : {};
  const target = { ...comparedTargets[name], ...limit };
  const load = (running: TargetUnderLoad) =>
    running.load({ connections: fullLoadConnections, warmupMs, measureMs });
  if (name in postgresTargets)
    return withFreshDatabase(server, 'short', (store) => runTarget(target, store, load));
  return { ...(await runOnFreshStore(target, { directory }, load)), plantsPerCommit: null };
}

/** The rate of one target divided by the rate of another, in each round. */
export function rateRatios(
  { rounds }: PostgresPart,
  cores: Cores,
  one: ComparedTarget,
  other: ComparedTarget,
): (number | null)[] {
  return rounds.map(({ measurements }) => {
    const rate = (name: ComparedTarget) =>
      measurements.find((own) => own.cores === cores && own.target === name)?.createsPerSecond;
    return ratio(rate(one), rate(other));
  });
}
