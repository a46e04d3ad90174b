/** The result as text for a terminal. */
import type { FigureResult } from './figures.ts';
import type { BenchResult } from './result.ts';
import type { Spread } from './statistics.ts';
import type { GeneratorRow } from './summary.ts';
import { targets } from './targets.ts';
import { connectionsText, numberText } from './text.ts';

/** A generator that is busy for more of the time than this may itself be what was measured. */
const generatorBusyShareMax = 0.9;

export function renderReport(result: BenchResult): string {
  return [
    renderEnvironment(result),
    ...result.settings.connections.map((connections) => renderLoad(result, connections)),
    renderPromises(result),
    renderGenerator(result.generator),
    renderFigures(result.figures),
  ].join('\n\n');
}

function renderEnvironment({ environment, settings, newPlantBytes, fdatasyncP50Ms }: BenchResult): string {
  const { cpu, cores, memoryBytes, system, fileSystem, loadAverage, versions } = environment;
  const seconds = settings.measureMs / 1000;
  return renderTable([
    ['machine', `${cpu}, ${cores} cores, ${Math.round(memoryBytes / 2 ** 30)} GiB, ${system}`],
    ['at start', `load average ${numberText(loadAverage, 2)}`],
    ['disk', `${fileSystem}, fdatasync p50 ${spreadText(fdatasyncP50Ms, 3)} ms`],
    [
      'versions',
      Object.entries(versions)
        .map((entry) => entry.join(' '))
        .join(', '),
    ],
    ['load', `closed loop, NewPlant of ${newPlantBytes} bytes, ids unique and ascending`],
    ['rounds', `${settings.rounds} of ${seconds} s after ${settings.warmupMs / 1000} s of warm-up; median (min to max)`],
  ]);
}

function renderLoad({ rows, settings }: BenchResult, connections: number): string {
  const header = [connectionsText(connections), ...['creates/s', 'p50 ms', 'p99 ms', 'CPU µs/create', 'peak RSS MB']];
  const own = settings.targets.flatMap((name) => {
    const row = rows.find((row) => row.target === name && row.connections === connections);
    return row ? [row] : [];
  });
  const body = own.map((row) => [
    targets[row.target].label,
    spreadText(row.createsPerSecond, 0),
    spreadText(row.p50Ms, 2),
    spreadText(row.p99Ms, 2),
    spreadText(row.cpuUsPerCreate, 1),
    spreadText(row.rssPeakBytes, 0, 1e6),
  ]);
  return renderTable([header, ...body]);
}

function renderPromises({ settings, measured }: BenchResult): string {
  const body = settings.targets.map((name) => {
    const runs = measured.rounds.flatMap((round) => round.targets[name] ?? []);
    const acknowledged = runs.reduce((sum, run) => sum + run.acknowledged, 0);
    const isStore = targets[name].countStored !== null;
    return [
      targets[name].label,
      targets[name].durability,
      isStore ? `all ${numberText(acknowledged, 0)} acknowledged creates counted in the store` : '',
    ];
  });
  return renderTable([['what a 200 means', '', ''], ...body]);
}

function renderGenerator(rows: GeneratorRow[]): string {
  const header = ['load generator', 'ceiling req/s', '÷ quickest target', 'core used', 'busy', 'the bottleneck?'];
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

function renderFigures(figures: FigureResult[]): string {
  const body = figures.map(({ label, bound, value, met }) => [
    label,
    spreadText(value, 2),
    'atLeast' in bound ? `≥ ${bound.atLeast}` : `≤ ${bound.atMost}`,
    met === null ? 'not measured' : met ? 'met' : 'NOT MET',
  ]);
  return renderTable([['figure', 'measured', 'target', ''], ...body]);
}

/** Columns as wide as their widest cell; those that hold numbers are aligned right. */
function renderTable(rows: string[][]): string {
  const columns = (rows[0] ?? []).map((_, column) => {
    const cells = rows.map((row) => row[column] ?? '');
    return { width: Math.max(...cells.map((cell) => cell.length)), isNumber: cells.slice(1).every(isNumberCell) };
  });
  const line = (row: string[]) =>
    columns.map(({ width, isNumber }, column) => {
      const cell = row[column] ?? '';
      return isNumber && column > 0 ? cell.padStart(width) : cell.padEnd(width);
    });
  return rows.map((row) => line(row).join('  ').trimEnd()).join('\n');
}

function isNumberCell(cell: string): boolean {
  return /^[\d-]/.test(cell);
}

function spreadText(value: Spread | null, decimals: number, unit = 1): string {
  if (value === null) return '-';
  const [median, min, max] = [value.median, value.min, value.max].map((part) => numberText(part / unit, decimals));
  return value.min === value.max ? `${median}` : `${median} (${min} to ${max})`;
}

function percentText(share: number): string {
  return `${Math.round(share * 100)} %`;
}
