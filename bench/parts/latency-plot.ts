import type { Environment } from '../environment.ts';
import { type Line, renderLineChart } from '../line-chart.ts';
import { median } from '../statistics.ts';
import { type TargetName, targetColors, targets } from '../targets.ts';
import { connectionsText, fullLoadConnections, numberText } from '../text.ts';
import { type LatencyPart, type LatencyRow, latencyRows } from './latency.ts';

const percentiles = [
  { label: 'p50', name: 'p50Ms', dashes: 'none' },
  { label: 'p99', name: 'p99Ms', dashes: '7 4' },
  { label: 'p99.9', name: 'p999Ms', dashes: '2 3' },
] as const;

export function renderLatencyPlot(part: LatencyPart, environment: Environment): string {
  const rows = latencyRows(part);
  return renderLineChart({
    title: 'Latency against load',
    environment,
    xLabel: 'arrivals a second',
    yLabel: 'latency, ms (logarithmic)',
    xText: (x) => numberText(x),
    yScale: 'logarithmic',
    lines: part.settings.targets.flatMap((target) => linesOf(target, rows)),
    foot: `Open loop, constant rate, ${connectionsText(fullLoadConnections)}; from the moment when a create was due to its answer.`,
  });
}

function linesOf(target: TargetName, rows: LatencyRow[]): Line[] {
  const own = rows.filter((row) => row.target === target);
  return percentiles.map(({ label, name, dashes }) => ({
    label: `${targets[target].label}, ${label}`,
    color: targetColors[target],
    dashes,
    points: own.map(({ loads }) => ({
      x: median(loads.map((load) => load.arrivalsPerSecond)),
      y: median(loads.map((load) => load[name])),
    })),
  }));
}
