import { newPlantBytes } from '../plant.ts';
import { spread } from '../statistics.ts';
import {
  percentText,
  type Row,
  renderFacts,
  renderSpreads,
  renderTable,
  spreadText,
} from '../table.ts';
import { targets } from '../targets.ts';
import { connectionsText, fullLoadConnections, numberText, roundsText } from '../text.ts';
import { type LoadPart, loadRows, type Measurement } from './load.ts';

/** A generator that is busy for more of the time may limit what was measured. */
const generatorBusyShareMax = 0.9;

export function renderLoadTables(part: LoadPart): string[] {
  return [
    renderConditions(part),
    ...part.settings.connections.map((connections) => renderLoad(part, connections)),
    renderThreads(part),
    renderPromises(part),
    renderGenerator(part),
  ];
}

function renderConditions({ settings, rounds }: LoadPart): string {
  const fdatasync = spread(rounds.map((round) => round.fdatasyncP50Ms));
  return renderFacts({
    load: `closed loop, NewPlant of ${newPlantBytes('short')} bytes, ids unique and ascending`,
    rounds: roundsText(settings),
    disk: `fdatasync p50 ${spreadText(fdatasync, 3)} ms`,
  });
}

function renderLoad(part: LoadPart, connections: number): string {
  return renderSpreads(connectionsText(connections), labelledRows(part, connections), [
    ['creates/s', 0, (own) => own.createsPerSecond],
    ['p50 ms', 2, (own) => own.p50Ms],
    ['p99 ms', 2, (own) => own.p99Ms],
    ['CPU µs/create', 1, (own) => own.cpuUsPerCreate],
    ['peak RSS MB', 0, (own) => own.rssPeakBytes, 1e6],
  ]);
}

function renderThreads(part: LoadPart): string {
  const suffix = `, ${connectionsText(fullLoadConnections)}`;
  const rows = labelledRows(part, fullLoadConnections, suffix).filter(([, own]) =>
    own.some(({ cpuUsPerCreateByRole }) => cpuUsPerCreateByRole !== null),
  );
  return renderSpreads('CPU µs/create by thread', rows, [
    ['HTTP threads', 1, (own) => own.cpuUsPerCreateByRole?.http],
    ['writer', 1, (own) => own.cpuUsPerCreateByRole?.writer],
    ['the rest', 1, (own) => own.cpuUsPerCreateByRole?.rest],
  ]);
}

function labelledRows(part: LoadPart, connections: number, suffix = ''): Row<Measurement>[] {
  return loadRows(part, connections).map(([name, own]) => [targets[name].label + suffix, own]);
}

function renderPromises({ settings, rounds }: LoadPart): string {
  const body = settings.targets.map((name) => {
    const runs = rounds.flatMap((round) => round.targets[name] ?? []);
    const acknowledged = runs.reduce((sum, run) => sum + run.acknowledged, 0);
    const { label, durability, countStored } = targets[name];
    const counted = `all ${numberText(acknowledged, 0)} acknowledged creates counted in the store`;
    return [label, durability, countStored ? counted : ''];
  });
  return renderTable([['what a 200 means', '', ''], ...body]);
}

function renderGenerator(part: LoadPart): string {
  const header = [
    'load generator',
    'ceiling req/s',
    '÷ quickest target',
    'core used',
    'busy',
    'the bottleneck?',
  ];
  const body = part.ceiling.map(({ connections, createsPerSecond: ceilingPerSecond }) => {
    const own = loadRows(part, connections).flatMap(([, measurements]) => measurements);
    const maximum = (of: (measurement: Measurement) => number) => Math.max(...own.map(of));
    const busyShare = maximum((one) => one.generatorCpuShare + (one.generatorWaitShare ?? 0));
    return [
      connectionsText(connections),
      numberText(ceilingPerSecond, 0),
      numberText(ceilingPerSecond / maximum((one) => one.createsPerSecond), 2),
      percentText(maximum((one) => one.generatorCpuShare)),
      percentText(busyShare),
      busyShare > generatorBusyShareMax ? 'MAYBE' : 'no',
    ];
  });
  return renderTable([header, ...body]);
}
