/** The result as text for a terminal. */
import type { Environment } from './environment.ts';
import type { FigureResult } from './figures.ts';
import { type PartName, type PartResults, partNames, parts } from './parts.ts';
import type { BenchResult } from './result.ts';
import { renderTable, spreadText } from './table.ts';
import { numberText } from './text.ts';

export function renderReport({ environment, parts: results, figures }: BenchResult): string {
  const tables = partNames.flatMap((name) => renderPart(name, results[name]));
  return [renderEnvironment(environment), ...tables, renderFigures(figures)].join('\n\n');
}

function renderPart<Name extends PartName>(name: Name, result: PartResults[Name] | undefined): string[] {
  return result === undefined ? [] : [`--- ${name} ---`, ...parts[name].renderTables(result)];
}

function renderEnvironment({ cpu, cores, memoryBytes, system, fileSystem, loadAverage, versions }: Environment): string {
  const packages = Object.entries(versions).map((entry) => entry.join(' '));
  return renderTable([
    ['machine', `${cpu}, ${cores} cores, ${Math.round(memoryBytes / 2 ** 30)} GiB, ${system}, ${fileSystem}`],
    ['at start', `load average ${numberText(loadAverage, 2)}`],
    ['versions', packages.join(', ')],
  ]);
}

function renderFigures(figures: FigureResult[]): string {
  const body = figures.map(({ label, bound, value, met, only }) => [
    label,
    spreadText(value, 2),
    'atLeast' in bound ? `≥ ${numberText(bound.atLeast)}` : `≤ ${numberText(bound.atMost)}`,
    [met === null ? 'not measured' : met ? 'met' : 'NOT MET', only].filter(Boolean).join(', '),
  ]);
  return renderTable([['figure', 'measured', 'target', ''], ...body]);
}
