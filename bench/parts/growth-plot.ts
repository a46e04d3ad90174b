import type { Environment } from '../environment.ts';
import { type IdKind, idSequences } from '../ids.ts';
import { lineChartFootTop, lineChartHeight, renderLineChart } from '../line-chart.ts';
import { margin, renderPage, text } from '../svg.ts';
import { connectionsText, durationText, fullLoadConnections, numberText } from '../text.ts';
import { type GrowthPart, growthRows } from './growth.ts';

const colors: Record<IdKind, string> = {
  short: '#8a94a0',
  ascending: '#17804d',
  snowflake: '#3b6fb6',
  random: '#c07a1e',
};

/** Creates per second against plants in the store. */
export function renderGrowthPlot(part: GrowthPart, environment: Environment): string {
  const rows = growthRows(part);
  const chart = renderLineChart({
    xLabel: 'million plants in the store',
    yLabel: 'creates per second',
    xText: (x) => numberText(x / 1e6),
    yScale: 'linear',
    lines: part.settings.ids.map((ids) => ({
      label: `${idSequences[ids].label} ids`,
      color: colors[ids],
      points: rows
        .filter((row) => row.ids === ids)
        .map(({ plants, createsPerSecond }) => ({
          x: plants,
          y: createsPerSecond?.median ?? Number.NaN,
        })),
    })),
  });
  const { rounds, measureMs } = part.settings;
  const foot = `Closed loop, ${connectionsText(fullLoadConnections)}; at each size the median of ${rounds} × ${durationText(measureMs)}.`;
  const page = {
    title: 'Creates per second against the size of the store',
    environment,
    height: lineChartHeight,
  };
  return renderPage(page, [...chart, text(margin, lineChartFootTop, foot, 'quiet')]);
}
