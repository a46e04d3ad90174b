/** The result as text for a terminal. */
import { type Environment, machineText, versionsText } from './environment.ts';
import type { FigureResult } from './figures.ts';
import { type PartName, type PartResults, partNames, parts } from './parts.ts';
import type { FormName } from './settings.ts';
import { renderFacts, renderTable, spreadText } from './table.ts';
import { numberText } from './text.ts';

/** One run: the content of the JSON file, from which tables and plots are drawn. */
export interface BenchResult {
  startedAt: string;
  form: FormName;
  environment: Environment;
  /** Each holds its own settings. Parts that did not run are missing. */
  parts: Partial<PartResults>;
  figures: FigureResult[];
}

export function renderReport({ environment, parts: results, figures }: BenchResult): string {
  const tables = partNames.flatMap((name) => renderPart(name, results[name]));
  return [renderEnvironment(environment), ...tables, renderFigures(figures)].join('\n\n');
}

function renderPart<Name extends PartName>(
  name: Name,
  result: PartResults[Name] | undefined,
): string[] {
  return result === undefined ? [] : [`--- ${name} ---`, ...parts[name].renderTables(result)];
}

function renderEnvironment(environment: Environment): string {
  return renderFacts({
    machine: machineText(environment),
    'at start': `load average ${numberText(environment.loadAverage, 2)}`,
    versions: versionsText(environment),
  });
}

/** Larger figures have no decimals. */
const wholeNumbersFrom = 1_000;

function renderFigures(figures: FigureResult[]): string {
  const body = figures.map((figure) => [
    figure.at ? `${figure.label}, ${figure.at}` : figure.label,
    spreadText(figure.value, (figure.value?.median ?? 0) < wholeNumbersFrom ? 2 : 0),
    'atLeast' in figure.bound
      ? `≥ ${numberText(figure.bound.atLeast)}`
      : `≤ ${numberText(figure.bound.atMost)}`,
    verdict(figure),
  ]);
  return renderTable([['figure', 'measured', 'target', ''], ...body]);
}

function verdict({ met, shortOf }: FigureResult): string {
  if (met === null) return 'not measured';
  const isMet = met ? 'met' : 'NOT MET';
  return shortOf ? `${isMet} so far: short of ${shortOf}` : isMet;
}
