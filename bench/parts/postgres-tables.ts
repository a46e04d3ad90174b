import { serverSettings } from '../database.ts';
import { newPlantBytes } from '../plant.ts';
import { spread } from '../statistics.ts';
import { percentText, renderFacts, renderTable, spreadText } from '../table.ts';
import { connectionsText, durationText, fullLoadConnections } from '../text.ts';
import { type ComparedTarget, comparedTargets, type PostgresPart, ratioOf } from './postgres.ts';

export function renderPostgresTables(part: PostgresPart): string[] {
  return [renderConditions(part), renderRates(part), renderCpu(part), renderPromises()];
}

function renderConditions({ settings, serverVersion, databaseCore }: PostgresPart): string {
  const { rounds, warmupMs, measureMs } = settings;
  const changed = Object.entries(serverSettings).map((setting) => setting.join('='));
  const cores =
    databaseCore === null
      ? 'all share all cores'
      : `the database has core ${databaseCore} alone; all else, the load generator too, has the others`;
  return renderFacts([
    ['load', `closed loop, ${connectionsText(fullLoadConnections)}, NewPlant of ${newPlantBytes('short')} bytes, ids unique and ascending`],
    ['rounds', `${rounds} of ${durationText(measureMs)} after ${durationText(warmupMs)} of warm-up; median (min to max)`],
    ['database', `PostgreSQL ${serverVersion}, ${changed.join(', ')}, otherwise as it comes: fsync=on, synchronous_commit=on`],
    ['cores', cores],
  ]);
}

function renderRates(part: PostgresPart): string {
  const { rounds } = part;
  const header = [connectionsText(fullLoadConnections), 'creates/s', 'p50 ms', 'p99 ms', 'plants a commit', '÷ the service on PostgreSQL'];
  const body = names.map((name) => {
    const own = rounds.map(({ targets }) => targets[name]);
    return [
      comparedTargets[name].label,
      spreadText(spread(own.map(({ createsPerSecond }) => createsPerSecond)), 0),
      spreadText(spread(own.map(({ p50Ms }) => p50Ms)), 2),
      spreadText(spread(own.map(({ p99Ms }) => p99Ms)), 2),
      spreadText(spread(own.map(({ plantsPerCommit }) => plantsPerCommit)), 1),
      spreadText(ratioOf(part, name, 'postgres'), 2),
    ];
  });
  const driver = [
    'the driver alone, without HTTP',
    spreadText(spread(rounds.map((round) => round.driver.plantsPerSecond)), 0),
    '-',
    '-',
    spreadText(spread(rounds.map((round) => round.driver.batchPlants)), 1),
    spreadText(spread(rounds.map(({ driver, targets }) => driver.plantsPerSecond / targets.postgres.createsPerSecond)), 2),
  ];
  return renderTable([header, ...body, driver]);
}

/** What the cores that there are were used for. */
function renderCpu({ rounds }: PostgresPart): string {
  const header = ['CPU µs/create', 'the target', 'the database', 'the generator', 'its core used'];
  const body = names.map((name) => {
    const own = rounds.map(({ targets }) => targets[name]);
    return [
      comparedTargets[name].label,
      spreadText(spread(own.map(({ cpuUsPerCreate }) => cpuUsPerCreate)), 1),
      spreadText(spread(own.map(({ databaseCpuUsPerCreate }) => databaseCpuUsPerCreate)), 1),
      spreadText(spread(own.map(({ generatorCpuShare, createsPerSecond }) => (1e6 * generatorCpuShare) / createsPerSecond)), 1),
      percentText(spread(own.map(({ generatorCpuShare }) => generatorCpuShare))?.median ?? 0),
    ];
  });
  const drivers = rounds.map(({ driver }) => driver);
  const driver = [
    'the driver alone, without HTTP',
    spreadText(spread(drivers.map((run) => run.cpuUsPerPlant)), 1),
    spreadText(spread(drivers.map((run) => run.databaseCpuUsPerPlant)), 1),
  ];
  return renderTable([header, ...body, driver]);
}

function renderPromises(): string {
  const body = names.map((name) => [comparedTargets[name].label, comparedTargets[name].durability]);
  return renderTable([['what a 200 means', ''], ...body]);
}

const names = Object.keys(comparedTargets) as ComparedTarget[];
