import { serverSettings } from '../database.ts';
import { newPlantBytes } from '../plant.ts';
import { type Row, renderFacts, renderSpreads, renderTable } from '../table.ts';
import { connectionsText, fullLoadConnections, roundsText } from '../text.ts';
import {
  type Cores,
  comparedTargets,
  comparisons,
  nodeCoreShare,
  type PostgresMeasurement,
  type PostgresPart,
  rateRatios,
} from './postgres.ts';

export function renderPostgresTables(part: PostgresPart): string[] {
  const tables = (cores: Cores) => [renderRates(part, cores), renderCpu(part, cores)];
  const apart = part.databaseCore === null ? [] : tables('own');
  const limited = part.isTimeLimited ? tables('limited') : [];
  return [renderConditions(part), ...tables('shared'), ...apart, ...limited, renderPromises()];
}

function renderConditions(part: PostgresPart): string {
  const changed = Object.entries(serverSettings).map((setting) => setting.join('='));
  return renderFacts({
    load: `closed loop, ${connectionsText(fullLoadConnections)}, NewPlant of ${newPlantBytes('short')} bytes, ids unique and ascending`,
    rounds: roundsText(part.settings),
    database: `PostgreSQL ${part.serverVersion}, ${changed.join(', ')}, all else by default: fsync=on, synchronous_commit=on`,
    cores:
      part.databaseCore === null
        ? 'all processes share all cores; no core can be kept free for the database here'
        : `first all processes share all cores; then the database has core ${part.databaseCore} alone, and all others, also the load generator, share the rest`,
    nodes: part.isTimeLimited
      ? `last, each node has at most ${nodeCoreShare} of a core`
      : 'no node can be limited to a share of a core here',
  });
}

const coresText: Record<Cores, string> = {
  shared: 'all share all cores',
  own: 'the database has a core alone',
  limited: `each node has ${nodeCoreShare} of a core`,
};

type Value = Partial<PostgresMeasurement> & { ratio?: number | null };

function renderRates(part: PostgresPart, cores: Cores): string {
  return renderSpreads(coresText[cores], rowsOf(part, cores), [
    ['creates/s', 0, (row) => row.createsPerSecond],
    ['p50 ms', 2, (row) => row.p50Ms],
    ['p99 ms', 2, (row) => row.p99Ms],
    ['plants a commit', 1, (row) => row.plantsPerCommit],
    ['÷ the service on PostgreSQL', 2, (row) => row.ratio],
  ]);
}

function renderCpu(part: PostgresPart, cores: Cores): string {
  const generatorCpuUs = ({ generatorCpuShare, createsPerSecond }: Value) =>
    generatorCpuShare && (1e6 * generatorCpuShare) / (createsPerSecond ?? Number.NaN);
  return renderSpreads(`CPU µs/create, ${coresText[cores]}`, rowsOf(part, cores), [
    ['the target', 1, (row) => row.cpuUsPerCreate],
    ['the database', 1, (row) => row.databaseCpuUsPerCreate],
    ['the generator', 1, generatorCpuUs],
    ['% of its core used', 0, (row) => row.generatorCpuShare, 0.01],
  ]);
}

/** The targets, and on shared cores the driver, whose batches count as its creates. */
function rowsOf(part: PostgresPart, cores: Cores): Row<Value>[] {
  const rows = comparisons[cores].map((name): Row<Value> => {
    const ratios = rateRatios(part, cores, name, 'postgres');
    const own = part.rounds.flatMap(({ measurements }, round) =>
      measurements
        .filter((one) => one.cores === cores && one.target === name)
        .map((one) => ({ ...one, ratio: ratios[round] ?? null })),
    );
    return [comparedTargets[name].label, own];
  });
  if (cores !== 'shared') return rows;
  const drivers = part.rounds.map(({ driver }) => ({
    createsPerSecond: driver.plantsPerSecond,
    plantsPerCommit: driver.batchPlants,
    cpuUsPerCreate: driver.cpuUsPerPlant,
    databaseCpuUsPerCreate: driver.databaseCpuUsPerPlant,
  }));
  return [...rows, ['the driver alone, without HTTP', drivers]];
}

function renderPromises(): string {
  const body = Object.values(comparedTargets).map(({ label, durability }) => [label, durability]);
  return renderTable([['what a 200 means', ''], ...body]);
}
