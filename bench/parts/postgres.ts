/** The service on PostgreSQL, beside what bounds it and what one would write instead, round after round. */
import type { PostgresServer } from '../../test/helpers/postgres.ts';
import { databaseCore, keepToCores } from '../cores.ts';
import { withFreshDatabase, withServer } from '../database.ts';
import type { LoadResult } from '../generator/order.ts';
import type { Bench } from '../part.ts';
import { type DriverRun, driveDatabase } from '../postgres-driver.ts';
import { type Spread, spread } from '../statistics.ts';
import { runOnFreshStore, runTarget, type TargetUnderLoad } from '../target-run.ts';
import { postgresTargets, type Target, type TargetName, targets } from '../targets.ts';
import { fullLoadConnections } from '../text.ts';

export interface PostgresSettings {
  rounds: number;
  warmupMs: number;
  measureMs: number;
}

/** In the order in which they are measured. */
export const comparedTargets = {
  noop: targets.noop,
  service: targets.service,
  ...postgresTargets,
} satisfies Partial<Record<TargetName, Target>> & typeof postgresTargets;
export type ComparedTarget = keyof typeof comparedTargets;

interface PostgresMeasurement extends LoadResult {
  /** Null for those that store elsewhere. */
  plantsPerCommit: number | null;
}

interface PostgresRound {
  targets: Record<ComparedTarget, PostgresMeasurement>;
  driver: DriverRun;
}

export interface PostgresPart {
  settings: PostgresSettings;
  serverVersion: string;
  /** That the database had to itself; null if all shared all. */
  databaseCore: number | null;
  rounds: PostgresRound[];
}

export async function measurePostgres(settings: PostgresSettings, bench: Bench): Promise<PostgresPart> {
  const core = databaseCore();
  if (core !== null) keepToCores(core, core);
  return withServer(bench.directory, async (server) => {
    if (core !== null) keepToCores(0, core - 1);
    const rounds: PostgresRound[] = [];
    for (let number = 1; number <= settings.rounds; number++) {
      bench.progress(`round ${number} of ${settings.rounds}`);
      rounds.push(await measureRound(server, settings, bench));
    }
    if (core !== null) keepToCores(0, core);
    const [row] = await server.query('SHOW server_version');
    return { settings, serverVersion: `${row?.['server_version']}`, databaseCore: core, rounds };
  });
}

async function measureRound(server: PostgresServer, settings: PostgresSettings, bench: Bench): Promise<PostgresRound> {
  const measured: Partial<PostgresRound['targets']> = {};
  for (const [name, target] of Object.entries(comparedTargets)) {
    const result = await measureTarget(target, name in postgresTargets ? server : undefined, settings, bench);
    bench.progress(`  ${target.label}: ${Math.round(result.createsPerSecond)} creates/s`);
    measured[name as ComparedTarget] = result;
  }
  const targets = measured as PostgresRound['targets'];
  const batchPlants = Math.max(1, Math.round(targets.postgres.plantsPerCommit ?? 1));
  const driver = await withFreshDatabase(server, 'short', (store) => driveDatabase(store, batchPlants, settings));
  bench.progress(`  the driver alone: ${Math.round(driver.plantsPerSecond)} plants/s`);
  return { targets, driver };
}

async function measureTarget(
  target: Target,
  server: PostgresServer | undefined,
  { warmupMs, measureMs }: PostgresSettings,
  { directory }: Bench,
): Promise<PostgresMeasurement> {
  const load = (running: TargetUnderLoad) => running.load({ connections: fullLoadConnections, warmupMs, measureMs });
  if (server === undefined) return { ...(await runOnFreshStore(target, { directory }, load)), plantsPerCommit: null };
  return withFreshDatabase(server, 'short', (store) => runTarget(target, store, load));
}

/** The rate of one divided by that of another, within each round. */
export function ratioOf({ rounds }: PostgresPart, one: ComparedTarget, other: ComparedTarget): Spread | null {
  return spread(rounds.map(({ targets }) => targets[one].createsPerSecond / targets[other].createsPerSecond));
}
