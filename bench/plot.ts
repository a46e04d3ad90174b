/** A picture of the rows of a part: lines over places, in panels one below the other. */
import { type Measure, measures, type Row, spreadOf } from './measurement.ts';
import type { PartResult } from './part.ts';
import type { Environment } from './report.ts';
import type { Spread } from './statistics.ts';
import { numberText } from './text.ts';

export interface Plot {
  title: string;
  /** The first is drawn solid, and the next with dashes. Default: the first column of the table. */
  measures?: Measure[];
  /** It begins at a power of ten. A linear scale, the default, begins at 0. */
  isLogarithmic?: true;
}

interface Line {
  label: string;
  color: string;
  /** SVG's stroke-dasharray. */
  dashes: string;
  points: { x: string; value: Spread }[];
}

interface Scale {
  ticks: number[];
  at(value: number): number;
}

const colors = ['#8a94a0', '#17804d', '#a8502d', '#2aa5b8', '#3b6fb6', '#c07a1e', '#8c5fa8'];
const dashesOfMeasures = ['none', '7 4', '2 3'];

const width = 960;
const margin = 32;
const headHeight = 112;
const panelHeadHeight = 44;
const panelFootHeight = 56;
const plotHeight = 320;
const plotLeft = 96;
const plotRight = width - 292;
const legendLeft = plotRight + 28;
const legendPitch = 22;

export function renderPlot({ plot, columns, rows }: PartResult, environment: Environment): string {
  const { title, measures: drawn = columns.slice(0, 1), isLogarithmic = false } = plot;
  const unit = drawn.map((measure) => measures[measure].head).join(', ');
  const names = [...new Set(rows.map(({ line }) => line))];
  let height = headHeight;
  const panels = [...Map.groupBy(rows, ({ panel }) => panel)].map(([panel, own]) => {
    const top = height + panelHeadHeight;
    height = top + plotHeight + panelFootHeight;
    const lines = names.flatMap((name, index) => linesOf(name, index, own, drawn));
    return renderPanel(panel === undefined ? unit : `${unit}, ${panel}`, lines, isLogarithmic, top);
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    // For screen readers.
    `<title>${escaped(title)}</title>`,
    `<style>text { font: 13px system-ui, 'DejaVu Sans', sans-serif; fill: #1f2933 }`,
    `.quiet { fill: #616e7c; font-size: 12px } .title { font-size: 20px; font-weight: 600 }`,
    `.panel { font-size: 14px; font-weight: 600 } .end { text-anchor: end }`,
    `.middle { text-anchor: middle }</style>`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    text(margin, 42, title, 'title'),
    text(margin, 66, environment.machine, 'quiet'),
    text(margin, 84, environment.versions, 'quiet'),
    ...panels,
    '</svg>\n',
  ].join('\n');
}

/** A line for each measure, in one color in all panels. */
function linesOf(name: string, index: number, rows: Row[], drawn: Measure[]): Line[] {
  const own = rows.filter(({ line }) => line === name);
  if (own.length === 0) return [];
  return drawn.map((measure, order) => ({
    label: drawn.length === 1 ? name : `${name}, ${measures[measure].head}`,
    color: colors[index % colors.length] ?? '',
    dashes: dashesOfMeasures[order] ?? '',
    points: own.flatMap((row) => {
      const value = spreadOf(row, measure);
      return value ? [{ x: row.x, value }] : [];
    }),
  }));
}

function renderPanel(title: string, lines: Line[], isLogarithmic: boolean, top: number): string {
  const bottom = top + plotHeight;
  const points = lines.flatMap((line) => line.points);
  const places = [...new Set(points.map(({ x }) => x))];
  const pitch = (plotRight - plotLeft) / places.length;
  const xAt = (x: string) => plotLeft + (places.indexOf(x) + 0.5) * pitch;
  const values = points.flatMap(({ value }) => [value.min, value.max]);
  const y = (isLogarithmic ? logarithmicScale : linearScale)(values, top);
  return [
    text(margin, top - 20, title, 'panel'),
    ...y.ticks.map((tick) => renderTick(tick, y.at(tick))),
    ...places.map((x) => text(xAt(x), bottom + 20, x, 'quiet middle')),
    ...lines.map((line) => renderLine(line, xAt, y)),
    ...lines.map((line, index) => renderLegend(line, top + index * legendPitch)),
  ].join('\n');
}

function renderTick(tick: number, y: number): string {
  const line = `<line x1="${plotLeft}" x2="${plotRight}" y1="${fixed(y)}" y2="${fixed(y)}" stroke="#d9dee4"/>`;
  return line + text(plotLeft - 10, y + 4, numberText(tick), 'quiet end');
}

/** Medians, with whiskers from the least to the most. */
function renderLine({ color, dashes, points }: Line, xAt: (x: string) => number, y: Scale) {
  const drawn = points.map(({ x, value }) => ({ x: fixed(xAt(x)), value }));
  const path = drawn.map(({ x, value }) => `${x},${fixed(y.at(value.median))}`).join(' ');
  const marks = drawn.map(({ x, value: { median, min, max } }) =>
    [
      `<circle cx="${x}" cy="${fixed(y.at(median))}" r="3" fill="${color}"/>`,
      `<path d="M${x} ${fixed(y.at(min))}V${fixed(y.at(max))}" stroke="${color}"/>`,
    ].join(''),
  );
  return `<polyline points="${path}" fill="none" ${stroke(color, dashes)}/>${marks.join('')}`;
}

function renderLegend({ label, color, dashes }: Line, y: number): string {
  const sample = `<line x1="${legendLeft}" x2="${legendLeft + 28}" y1="${y}" y2="${y}" ${stroke(color, dashes)}/>`;
  return sample + text(legendLeft + 36, y + 4, label, 'quiet');
}

function stroke(color: string, dashes: string): string {
  return `stroke="${color}" stroke-width="2" stroke-dasharray="${dashes}"`;
}

function linearScale(values: number[], top: number): Scale {
  const max = Math.max(...values);
  const step = tickStep(max);
  const count = Math.ceil(max / step);
  const ticks = Array.from({ length: count + 1 }, (_, index) => index * step);
  return { ticks, at: (value) => top + plotHeight * (1 - value / (count * step)) };
}

/** 1, 2 or 5 times a power of ten, for four to ten ticks. */
function tickStep(max: number): number {
  const power = 10 ** Math.floor(Math.log10(max));
  return max / power >= 5 ? power : max / power >= 2 ? power / 2 : power / 5;
}

function logarithmicScale(values: number[], top: number): Scale {
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
  const ticks = Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index));
  const shareOf = (value: number) => (Math.log10(value) - low) / (high - low);
  return { ticks, at: (value) => top + plotHeight * (1 - shareOf(value)) };
}

function text(x: number, y: number, content: string, classes: string): string {
  return `<text x="${fixed(x)}" y="${fixed(y)}" class="${classes}">${escaped(content)}</text>`;
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

function fixed(value: number): string {
  return value.toFixed(1);
}
