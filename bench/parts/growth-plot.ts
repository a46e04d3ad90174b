import type { Environment } from '../environment.ts';
import { type IdKind, idSequences } from '../ids.ts';
import { renderLineChart } from '../line-chart.ts';
import { median } from '../statistics.ts';
import { connectionsText, durationText, fullLoadConnections, numberText } from '../text.ts';
import { type GrowthPart, growthRows } from './growth.ts';

const colors: Record<IdKind, string> = {
  short: '#8a94a0',
  ascending: '#17804d',
  snowflake: '#3b6fb6',
  random: '#c07a1e',
};

export function renderGrowthPlot(part: GrowthPart, environment: Environment): string {
  const { rounds, measureMs } = part.settings;
  const rows = growthRows(part);
  return renderLineChart({
    title: 'Creates per second against the size of the store',
    environment,
    xLabel: 'million plants in the store',
    yLabel: 'creates per second',
    xText: (x) => numberText(x / 1e6),
    yScale: 'linear',
    lines: part.settings.ids.map((ids) => ({
      label: `${idSequences[ids].label} ids`,
      color: colors[ids],
      points: rows
        .filter((row) => row.ids === ids)
        .map(({ plants, pairs }) => ({
          x: plants,
          y: median(pairs.map(({ grown }) => grown.createsPerSecond)),
        })),
    })),
    foot: `Closed loop, ${connectionsText(fullLoadConnections)}; at each size the median of ${rounds} × ${durationText(measureMs)}.`,
  });
}
