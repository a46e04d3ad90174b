/**
 * The service on PostgreSQL, beside what bounds it and what one would write instead, round after
 * round.
 */
import type { PostgresServer } from '../../test/helpers/postgres.ts';
import { canLimitTime, keepAllToCores, keepToCores, lastCore } from '../cores.ts';
import { withFreshDatabase, withServer } from '../database.ts';
import type { LoadResult } from '../generator/order.ts';
import type { Bench } from '../part.ts';
import { type DriverRun, driveDatabase } from '../postgres-driver.ts';
import { type Spread, spread } from '../statistics.ts';
import { runOnFreshStore, runTarget, type TargetUnderLoad } from '../target-run.ts';
import { type PostgresTargetName, postgresTargets, type Target, targets } from '../targets.ts';
import { fullLoadConnections } from '../text.ts';

export interface PostgresSettings {
  rounds: number;
  warmupMs: number;
  measureMs: number;
}

export type ComparedTarget = PostgresTargetName | 'noop' | 'service';
export const comparedTargets: Record<ComparedTarget, Target> = {
  noop: targets.noop,
  service: targets.service,
  ...postgresTargets,
};

/**
 * `shared`: all have all cores. `own`: the database has the last core alone, and all else, the load
 * generator too, the others. `limited`: all have all cores, but each node no more than
 * `nodeCoreShare` of one, as if it were on a machine of that size.
 */
export type Cores = 'shared' | 'own' | 'limited';

/** On two cores, two nodes leave one to the database and the load generator. */
export const nodeCoreShare = 0.5;

/** What is measured with which cores, in this order. */
export const comparisons: Record<Cores, ComparedTarget[]> = {
  shared: ['noop', 'fastify', 'prepared', 'postgres', 'nodes'],
  own: ['service', 'postgres'],
  limited: ['postgres', 'nodes'],
};

interface PostgresMeasurement extends LoadResult {
  target: ComparedTarget;
  cores: Cores;
  /** Null for those that store elsewhere. */
  plantsPerCommit: number | null;
}

interface PostgresRound {
  measurements: PostgresMeasurement[];
  /** With all cores. */
  driver: DriverRun;
}

export interface PostgresPart {
  settings: PostgresSettings;
  serverVersion: string;
  /** That the database had alone where it had one; null where it cannot have one. */
  databaseCore: number | null;
  /** Whether nodes were measured `limited`, too. */
  isTimeLimited: boolean;
  rounds: PostgresRound[];
}

export async function measurePostgres(
  settings: PostgresSettings,
  bench: Bench,
): Promise<PostgresPart> {
  const databaseCore = lastCore();
  const isTimeLimited = await canLimitTime();
  return withServer(bench.directory, async (server) => {
    const rounds: PostgresRound[] = [];
    for (let number = 1; number <= settings.rounds; number++) {
      bench.progress(`round ${number} of ${settings.rounds}`);
      const { measurements, driver } = await measureSharing(server, settings, bench);
      if (databaseCore !== null)
        measurements.push(...(await measureApart(server, databaseCore, settings, bench)));
      if (isTimeLimited)
        measurements.push(...(await measureTargets('limited', server, settings, bench)));
      rounds.push({ measurements, driver });
    }
    const [row] = await server.query('SHOW server_version');
    return {
      settings,
      serverVersion: `${row?.['server_version']}`,
      databaseCore,
      isTimeLimited,
      rounds,
    };
  });
}

async function measureSharing(
  server: PostgresServer,
  settings: PostgresSettings,
  bench: Bench,
): Promise<PostgresRound> {
  const measurements = await measureTargets('shared', server, settings, bench);
  const own = measurements.find(({ target }) => target === 'postgres');
  const batchPlants = Math.max(1, Math.round(own?.plantsPerCommit ?? 1));
  const driver = await withFreshDatabase(server, 'short', (store) =>
    driveDatabase(store, batchPlants, settings),
  );
  bench.progress(`  the driver alone: ${Math.round(driver.plantsPerSecond)} plants/s`);
  return { measurements, driver };
}

async function measureApart(
  server: PostgresServer,
  core: number,
  settings: PostgresSettings,
  bench: Bench,
) {
  keepAllToCores(server.pid, core, core);
  keepToCores(process.pid, 0, core - 1);
  const measurements = await measureTargets('own', server, settings, bench);
  keepAllToCores(server.pid, 0, core);
  keepToCores(process.pid, 0, core);
  return measurements;
}

async function measureTargets(
  cores: Cores,
  server: PostgresServer,
  settings: PostgresSettings,
  bench: Bench,
) {
  const measurements: PostgresMeasurement[] = [];
  for (const target of comparisons[cores]) {
    const result = await measureTarget(target, cores, server, settings, bench);
    bench.progress(
      `  ${comparedTargets[target].label}, ${cores} cores: ${Math.round(result.createsPerSecond)} creates/s`,
    );
    measurements.push({ target, cores, ...result });
  }
  return measurements;
}

async function measureTarget(
  name: ComparedTarget,
  cores: Cores,
  server: PostgresServer,
  { warmupMs, measureMs }: PostgresSettings,
  { directory }: Bench,
): Promise<Omit<PostgresMeasurement, 'target' | 'cores'>> {
  const target =
    cores === 'limited'
      ? { ...comparedTargets[name], coreShare: nodeCoreShare }
      : comparedTargets[name];
  const load = (running: TargetUnderLoad) =>
    running.load({ connections: fullLoadConnections, warmupMs, measureMs });
  if (name in postgresTargets)
    return withFreshDatabase(server, 'short', (store) => runTarget(target, store, load));
  return { ...(await runOnFreshStore(target, { directory }, load)), plantsPerCommit: null };
}

/** The rate of one divided by that of another, within each round. */
export function ratioOf(
  { rounds }: PostgresPart,
  cores: Cores,
  one: ComparedTarget,
  other: ComparedTarget,
): Spread | null {
  return spread(
    rounds.flatMap(({ measurements }) => {
      const rate = (name: ComparedTarget) =>
        measurements.find((own) => own.cores === cores && own.target === name)?.createsPerSecond;
      const [dividend, divisor] = [rate(one), rate(other)];
      return dividend === undefined || divisor === undefined ? [] : dividend / divisor;
    }),
  );
}
