import { serverSettings } from '../database.ts';
import { newPlantBytes } from '../plant.ts';
import { spread } from '../statistics.ts';
import { percentText, renderFacts, renderTable, spreadText } from '../table.ts';
import { connectionsText, durationText, fullLoadConnections } from '../text.ts';
import {
  type ComparedTarget,
  type Cores,
  comparedTargets,
  comparisons,
  nodeCoreShare,
  type PostgresPart,
  ratioOf,
} from './postgres.ts';

export function renderPostgresTables(part: PostgresPart): string[] {
  const tables = (cores: Cores) => [renderRates(part, cores), renderCpu(part, cores)];
  const apart = part.databaseCore === null ? [] : tables('own');
  const limited = part.isTimeLimited ? tables('limited') : [];
  return [renderConditions(part), ...tables('shared'), ...apart, ...limited, renderPromises()];
}

function renderConditions({
  settings,
  serverVersion,
  databaseCore,
  isTimeLimited,
}: PostgresPart): string {
  const { rounds, warmupMs, measureMs } = settings;
  const changed = Object.entries(serverSettings).map((setting) => setting.join('='));
  const apart = `first all share all; then the database has core ${databaseCore} alone, and all else, the load generator too, the others`;
  return renderFacts([
    [
      'load',
      `closed loop, ${connectionsText(fullLoadConnections)}, NewPlant of ${newPlantBytes('short')} bytes, ids unique and ascending`,
    ],
    [
      'rounds',
      `${rounds} of ${durationText(measureMs)} after ${durationText(warmupMs)} of warm-up; median (min to max)`,
    ],
    [
      'database',
      `PostgreSQL ${serverVersion}, ${changed.join(', ')}, otherwise as it comes: fsync=on, synchronous_commit=on`,
    ],
    [
      'cores',
      databaseCore === null ? 'all share all; none can be kept free for the database here' : apart,
    ],
    [
      'nodes',
      isTimeLimited
        ? `last, each is held to ${nodeCoreShare} of a core`
        : 'none can be held to a share of a core here',
    ],
  ]);
}

const coresText: Record<Cores, string> = {
  shared: 'all share all cores',
  own: 'the database has a core alone',
  limited: `each node has ${nodeCoreShare} of a core`,
};

function renderRates(part: PostgresPart, cores: Cores): string {
  const header = [
    coresText[cores],
    'creates/s',
    'p50 ms',
    'p99 ms',
    'plants a commit',
    '÷ the service on PostgreSQL',
  ];
  const body = comparisons[cores].map((name) => {
    const own = measurementsOf(part, cores, name);
    return [
      comparedTargets[name].label,
      spreadText(spread(own.map(({ createsPerSecond }) => createsPerSecond)), 0),
      spreadText(spread(own.map(({ p50Ms }) => p50Ms)), 2),
      spreadText(spread(own.map(({ p99Ms }) => p99Ms)), 2),
      spreadText(spread(own.map(({ plantsPerCommit }) => plantsPerCommit)), 1),
      spreadText(ratioOf(part, cores, name, 'postgres'), 2),
    ];
  });
  if (cores !== 'shared') return renderTable([header, ...body]);
  const drivers = part.rounds.map(({ driver }) => driver);
  const rates = spreadText(spread(drivers.map(({ plantsPerSecond }) => plantsPerSecond)), 0);
  const batches = spreadText(spread(drivers.map(({ batchPlants }) => batchPlants)), 1);
  return renderTable([header, ...body, [driverText, rates, '-', '-', batches, '-']]);
}

const driverText = 'the driver alone, without HTTP';

/** What the cores were used for. */
function renderCpu(part: PostgresPart, cores: Cores): string {
  const header = [
    `CPU µs/create, ${coresText[cores]}`,
    'the target',
    'the database',
    'the generator',
    'its core used',
  ];
  const body = comparisons[cores].map((name) => {
    const own = measurementsOf(part, cores, name);
    return [
      comparedTargets[name].label,
      spreadText(spread(own.map(({ cpuUsPerCreate }) => cpuUsPerCreate)), 1),
      spreadText(spread(own.map(({ databaseCpuUsPerCreate }) => databaseCpuUsPerCreate)), 1),
      spreadText(
        spread(
          own.map(
            ({ generatorCpuShare, createsPerSecond }) =>
              (1e6 * generatorCpuShare) / createsPerSecond,
          ),
        ),
        1,
      ),
      percentText(spread(own.map(({ generatorCpuShare }) => generatorCpuShare))?.median ?? 0),
    ];
  });
  if (cores !== 'shared') return renderTable([header, ...body]);
  const drivers = part.rounds.map(({ driver }) => driver);
  const ownCpu = spreadText(spread(drivers.map(({ cpuUsPerPlant }) => cpuUsPerPlant)), 1);
  const databaseCpu = spreadText(
    spread(drivers.map(({ databaseCpuUsPerPlant }) => databaseCpuUsPerPlant)),
    1,
  );
  return renderTable([header, ...body, [driverText, ownCpu, databaseCpu, '-', '-']]);
}

function measurementsOf({ rounds }: PostgresPart, cores: Cores, name: ComparedTarget) {
  return rounds.flatMap(({ measurements }) =>
    measurements.filter((own) => own.cores === cores && own.target === name),
  );
}

function renderPromises(): string {
  const body = Object.values(comparedTargets).map(({ label, durability }) => [label, durability]);
  return renderTable([['what a 200 means', ''], ...body]);
}
