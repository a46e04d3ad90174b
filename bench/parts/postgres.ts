/** The service on PostgreSQL, beside the program that a user would write. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type PostgresServer, startPostgres } from '../../test/helpers/postgres.ts';
import type { Load } from '../load-generator.ts';
import { addRatios, keepRows, type Values } from '../measurement.ts';
import { type Bench, fullLoad, measureRounds, type PartResult, type Settings } from '../part.ts';
import { type LoadedStore, runTarget } from '../target.ts';
import { postgresTargets, type Target } from '../targets.ts';

/** Usual for a server of this size. By default fsync and synchronous_commit are on. */
const usualSettings = { shared_buffers: '256MB', max_wal_size: '2GB' };
/** TCP alone: the path of a socket in the folder may be too long. */
const serverSettings = { ...usualSettings, unix_socket_directories: '' };

export async function measurePostgres(settings: Settings, bench: Bench): Promise<PartResult> {
  const { warmupMs, measureMs } = settings;
  const { rows, add } = keepRows();
  const all = Object.values(postgresTargets);
  const lastCore = availableParallelism() - 1;
  // The server and the targets inherit the cores.
  const isApart = lastCore > 0 && keepToCores(0, lastCore - 1);
  const core = isApart ? lastCore : undefined;
  const load = { connections: fullLoad.connections, warmupMs, measureMs, core };
  // On the disk of the stores. It is also killed when the benchmark is interrupted.
  const owner = { after: (kill: () => unknown) => process.prependOnceListener('exit', kill) };
  const folder = mkdtempSync(join(bench.directory, 'postgres-'));
  const server = await startPostgres(owner, serverSettings, folder);
  await measureRounds(settings, bench, async () => {
    for (const target of all) {
      const values = await measureTarget(target, server, load);
      bench.progress(`  ${target.label}: ${values.createsPerSecond} creates/s`);
      add({ x: fullLoad.text, line: target.label }, values);
    }
  });
  const [row] = await server.query('SHOW server_version');
  const version = row?.['server_version'];
  await server.stop('fast');
  if (isApart) keepToCores(0, lastCore);
  addRatios(rows, 'ratioToFastify', postgresTargets.fastify.label);
  const changed = Object.entries(usualSettings).map((setting) => setting.join('='));
  return {
    conditions: {
      load: `closed loop, ${fullLoad.text}, ids unique and ascending`,
      database: `PostgreSQL ${version}, ${changed.join(', ')}, all else by default: fsync=on, synchronous_commit=on`,
      cores: isApart
        ? 'the load generator has a core alone, and all others share the rest'
        : 'all processes share all cores: no core can be kept for the load generator here',
      ...Object.fromEntries(all.map(({ label, durability }) => [label, durability])),
    },
    columns: [
      'createsPerSecond',
      'ratioToFastify',
      'p50Ms',
      'p99Ms',
      'cpuUsPerCreate',
      'databaseCpuUsPerCreate',
      'plantsPerCommit',
      'generatorBusyShare',
    ],
    rows,
    plot: { title: 'Creates per second on PostgreSQL' },
  };
}

/** Keeps this process to these cores, with its future children. @returns whether it could */
function keepToCores(first: number, last: number): boolean {
  if (process.platform !== 'linux') return false;
  const args = ['--all-tasks', '--cpu-list', '--pid', `${first}-${last}`, `${process.pid}`];
  try {
    execFileSync('taskset', args, { stdio: 'ignore' });
    return true;
  } catch {
    return false; // taskset is missing, or this process may not have these cores
  }
}

/**
 * Loads the target on an empty database.
 *
 * @throws Error unless the database then holds exactly the acknowledged plants
 */
async function measureTarget(target: Target, server: PostgresServer, load: Load): Promise<Values> {
  const path = await server.makeDatabase();
  const name = new URL(path).pathname.slice(1);
  const store: LoadedStore = { path, ids: 'short', plants: 0, databasePid: server.pid };
  const numberOf = async (sql: string) => {
    const [row] = await server.query(`SELECT (${sql})::int AS value`, name);
    return Number(row?.['value']);
  };
  // So that this target does not pay for the writes of the target before.
  await server.query('CHECKPOINT');
  const result = await runTarget(target, store, (running) => running.load(load));
  const stored = await numberOf('SELECT count(*) FROM plants');
  if (stored !== store.plants)
    throw new Error(`acknowledged ${store.plants} creates, but holds ${stored} plants`);
  // All transactions of the database. Few of a service's transactions store no plants.
  const commits = await numberOf(
    'SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()',
  );
  await server.query(`DROP DATABASE ${name}`);
  return { ...result, plantsPerCommit: stored / commits };
}
