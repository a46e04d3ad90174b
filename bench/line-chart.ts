/** A page with one chart of lines over a number, as growth and latency are drawn. */
import type { Environment } from './environment.ts';
import { fixed, headHeight, margin, renderPage, text, width } from './svg.ts';
import { numberText } from './text.ts';

export interface Line {
  label: string;
  color: string;
  /** SVG's stroke-dasharray. */
  dashes?: string;
  points: { x: number; y: number }[];
}

interface LineChart {
  title: string;
  environment: Environment;
  xLabel: string;
  yLabel: string;
  xText(x: number): string;
  /** A linear scale begins at 0, a logarithmic scale at a power of ten. */
  yScale: 'linear' | 'logarithmic';
  lines: Line[];
  foot: string;
}

interface Scale {
  ticks: number[];
  at(value: number): number;
}

const plotLeft = 96;
const plotRight = width - 272;
const plotTop = headHeight + 24;
const plotBottom = plotTop + 340;
const legendLeft = plotRight + 28;
const legendPitch = 22;

export function renderLineChart(chart: LineChart): string {
  const { title, environment, foot } = chart;
  return renderPage({ title, environment, height: plotBottom + 100 }, [
    ...renderPlot(chart),
    text(margin, plotBottom + 68, foot, 'quiet'),
  ]);
}

function renderPlot({ xLabel, yLabel, xText, yScale, lines }: LineChart): string[] {
  const points = lines.flatMap((line) => line.points);
  const x = linearScale(Math.max(...points.map((point) => point.x)), plotLeft, plotRight);
  const ys = points.map((point) => point.y);
  const y =
    yScale === 'linear'
      ? linearScale(Math.max(...ys), plotBottom, plotTop)
      : logarithmicScale(ys, plotBottom, plotTop);
  return [
    ...y.ticks.map((tick) => renderTick(tick, y.at(tick))),
    ...x.ticks.map((tick) => text(x.at(tick), plotBottom + 20, xText(tick), 'quiet middle')),
    text((plotLeft + plotRight) / 2, plotBottom + 42, xLabel, 'middle'),
    text(margin, plotTop - 16, yLabel),
    ...lines.map((line) => renderLine(line, x, y)),
    ...lines.map((line, index) => renderLegend(line, plotTop + index * legendPitch)),
  ];
}

function renderTick(tick: number, y: number): string {
  const line = `<line x1="${plotLeft}" x2="${plotRight}" y1="${fixed(y)}" y2="${fixed(y)}" stroke="#d9dee4"/>`;
  return line + text(plotLeft - 10, y + 4, numberText(tick), 'quiet end');
}

function renderLine({ color, dashes, points }: Line, x: Scale, y: Scale): string {
  const places = points.map((point) => [fixed(x.at(point.x)), fixed(y.at(point.y))]);
  const dots = places.map(([x, y]) => `<circle cx="${x}" cy="${y}" r="3" fill="${color}"/>`);
  return `<polyline points="${places.join(' ')}" fill="none" ${stroke(color, dashes)}/>${dots.join('')}`;
}

function renderLegend({ label, color, dashes }: Line, y: number): string {
  const sample = `<line x1="${legendLeft}" x2="${legendLeft + 28}" y1="${y}" y2="${y}" ${stroke(color, dashes)}/>`;
  return sample + text(legendLeft + 36, y + 4, label, 'quiet');
}

function stroke(color: string, dashes = 'none'): string {
  return `stroke="${color}" stroke-width="2" stroke-dasharray="${dashes}"`;
}

function linearScale(max: number, from: number, to: number): Scale {
  const step = tickStep(max);
  const top = Math.ceil(max / step) * step;
  const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step);
  return { ticks, at: (value) => from + (value / top) * (to - from) };
}

/** 1, 2 or 5 times a power of ten, for four to ten ticks. */
function tickStep(max: number): number {
  const power = 10 ** Math.floor(Math.log10(max));
  return max / power >= 5 ? power : max / power >= 2 ? power / 2 : power / 5;
}

function logarithmicScale(values: number[], from: number, to: number): Scale {
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
  const ticks = Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index));
  return { ticks, at: (value) => from + ((Math.log10(value) - low) / (high - low)) * (to - from) };
}
