import { newPlantBytes } from '../plant.ts';
import { spread } from '../statistics.ts';
import { percentText, renderFacts, renderTable, spreadText } from '../table.ts';
import { targets } from '../targets.ts';
import { connectionsText, durationText, fullLoadConnections, numberText } from '../text.ts';
import type { LoadPart } from './load.ts';
import { type GeneratorRow, type Row, summarize, summarizeGenerator } from './load-summary.ts';

/** A generator that is busy for more of the time than this may itself be what was measured. */
const generatorBusyShareMax = 0.9;

export function renderLoadTables(part: LoadPart): string[] {
  const rows = summarize(part);
  return [
    renderConditions(part),
    ...part.settings.connections.map((connections) => renderLoad(rows, connections)),
    renderThreads(rows),
    renderPromises(part),
    renderGenerator(summarizeGenerator(part)),
  ];
}

function renderConditions({ settings, rounds }: LoadPart): string {
  const { warmupMs, measureMs } = settings;
  return renderFacts([
    ['load', `closed loop, NewPlant of ${newPlantBytes('short')} bytes, ids unique and ascending`],
    [
      'rounds',
      `${settings.rounds} of ${durationText(measureMs)} after ${durationText(warmupMs)} of warm-up; median (min to max)`,
    ],
    [
      'disk',
      `fdatasync p50 ${spreadText(spread(rounds.map((round) => round.fdatasyncP50Ms)), 3)} ms`,
    ],
  ]);
}

function renderLoad(rows: Row[], connections: number): string {
  const header = [
    connectionsText(connections),
    ...['creates/s', 'p50 ms', 'p99 ms', 'CPU µs/create', 'peak RSS MB'],
  ];
  const body = rows
    .filter((row) => row.connections === connections)
    .map((row) => [
      targets[row.target].label,
      spreadText(row.createsPerSecond, 0),
      spreadText(row.p50Ms, 2),
      spreadText(row.p99Ms, 2),
      spreadText(row.cpuUsPerCreate, 1),
      spreadText(row.rssPeakBytes, 0, 1e6),
    ]);
  return renderTable([header, ...body]);
}

function renderThreads(rows: Row[]): string {
  const header = ['CPU µs/create by thread', 'HTTP threads', 'writer', 'the rest'];
  const body = rows
    .filter((row) => row.connections === fullLoadConnections && row.cpuUsPerCreateByRole !== null)
    .map(({ target, cpuUsPerCreateByRole: roles }) => [
      `${targets[target].label}, ${connectionsText(fullLoadConnections)}`,
      ...[roles?.http, roles?.writer, roles?.rest].map((role) => spreadText(role ?? null, 1)),
    ]);
  return renderTable([header, ...body]);
}

function renderPromises({ settings, rounds }: LoadPart): string {
  const body = settings.targets.map((name) => {
    const runs = rounds.flatMap((round) => round.targets[name] ?? []);
    const acknowledged = runs.reduce((sum, run) => sum + run.acknowledged, 0);
    const { label, durability, countStored } = targets[name];
    return [
      label,
      durability,
      countStored
        ? `all ${numberText(acknowledged, 0)} acknowledged creates counted in the store`
        : '',
    ];
  });
  return renderTable([['what a 200 means', '', ''], ...body]);
}

function renderGenerator(rows: GeneratorRow[]): string {
  const header = [
    'load generator',
    'ceiling req/s',
    '÷ quickest target',
    'core used',
    'busy',
    'the bottleneck?',
  ];
  const body = rows.map((row) => [
    connectionsText(row.connections),
    numberText(row.ceilingPerSecond, 0),
    numberText(row.headroom, 2),
    percentText(row.cpuShareMax),
    percentText(row.busyShareMax),
    row.busyShareMax > generatorBusyShareMax ? 'MAYBE' : 'no',
  ]);
  return renderTable([header, ...body]);
}
