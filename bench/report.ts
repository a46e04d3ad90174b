/** The result of a run, and what it depends on besides the code, as text for a terminal. */
import os from 'node:os';
import { fileSystemOf } from '../src/disk/file-system.ts';
import type { FigureResult } from './figures.ts';
import { measures, spreadOf } from './measurement.ts';
import type { PartResult } from './part.ts';
import type { FormName, PartName } from './parts.ts';
import manifest from './peers/package.json' with { type: 'json' };
import { numberText, spreadText } from './text.ts';

export type Environment = ReturnType<typeof describeEnvironment>;

export function describeEnvironment(storeDirectory: string) {
  const { node, sqlite } = process.versions;
  const system = `${os.platform()} ${os.release()} ${os.arch()}`;
  const memory = `${Math.round(os.totalmem() / 2 ** 30)} GiB`;
  const fileSystem = fileSystemOf(storeDirectory).type?.name ?? 'a file system of an unknown type';
  const cpu = `${os.cpus()[0]?.model}, ${os.availableParallelism()} cores`;
  const versions = Object.entries({ node, sqlite, ...manifest.dependencies });
  return {
    // On tmpfs a sync costs nothing, and ratios to targets without sync mislead.
    machine: [cpu, memory, system, fileSystem].join(', '),
    // Of the last minute. Programs besides the benchmark make it larger than 0.
    loadAverage: os.loadavg()[0] ?? 0,
    versions: versions.map((entry) => entry.join(' ')).join(', '),
  };
}

/** One run: the content of the JSON file, from which tables and plots are drawn. */
export interface BenchResult {
  startedAt: string;
  form: FormName;
  environment: Environment;
  /** Parts that did not run are missing. */
  parts: Partial<Record<PartName, PartResult>>;
  figures: FigureResult[];
}

export function renderReport({ environment, parts, figures }: BenchResult): string {
  const { machine, loadAverage, versions } = environment;
  const facts = { machine, 'at start': `load average ${numberText(loadAverage, 2)}`, versions };
  const results = Object.entries(parts).flatMap(([name, part]) => [
    `--- ${name} ---`,
    renderFacts(part.conditions),
    renderRows(part),
  ]);
  return [renderFacts(facts), ...results, renderFigures(figures)].join('\n\n');
}

/** A name and a text on each line. */
function renderFacts(facts: Record<string, string>): string {
  const width = Math.max(...Object.keys(facts).map((name) => name.length));
  const lines = Object.entries(facts).map(([name, text]) => `${name.padEnd(width)}  ${text}`);
  return lines.join('\n');
}

/** A line of its own for each panel. A place is named once. */
function renderRows({ columns, rows }: PartResult): string {
  const head = ['', '', ...columns.map((column) => measures[column].head)];
  const body = rows.flatMap((row, index) => {
    const { panel, x, line } = row;
    const last = rows[index - 1];
    const isSamePanel = last?.panel === panel;
    const cells = columns.map((column) =>
      spreadText(spreadOf(row, column), measures[column].decimals),
    );
    const named = [isSamePanel && last?.x === x ? '' : x, line, ...cells];
    return isSamePanel || panel === undefined ? [named] : [[panel], named];
  });
  return renderTable([head, ...body]);
}

/** Each column is as wide as its widest cell. Columns of numbers are aligned right. */
function renderTable(rows: string[][]): string {
  const columns = (rows[0] ?? []).map((_, column) => {
    const cells = rows.map((row) => row[column] ?? '');
    return {
      width: Math.max(...cells.map((cell) => cell.length)),
      isNumber: column > 1 && cells.slice(1).every((cell) => /^([\d-]|$)/.test(cell)),
    };
  });
  const line = (row: string[]) =>
    columns.map(({ width, isNumber }, column) => {
      const cell = row[column] ?? '';
      return isNumber ? cell.padStart(width) : cell.padEnd(width);
    });
  return rows.map((row) => line(row).join('  ').trimEnd()).join('\n');
}

function renderFigures(figures: FigureResult[]): string {
  const body = figures.map(({ label, value, bound, target, verdict }) => [
    label,
    spreadText(value, (value?.median ?? 0) < 1_000 ? 2 : 0),
    `${bound} ${numberText(target)}`,
    verdict,
  ]);
  return renderTable([['figure', 'measured', 'target', ''], ...body]);
}
