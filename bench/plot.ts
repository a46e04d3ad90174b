/** The result as an SVG: creates/s of each target, a panel for each number of connections. */
import type { BenchResult } from './result.ts';
import type { Row } from './summary.ts';
import { type TargetName, targets } from './targets.ts';
import { connectionsText, numberText } from './text.ts';

const width = 960;
const margin = 32;
const barsLeft = 280;
const barsWidth = 400;
const latenciesRight = width - margin;
const headHeight = 112;
const panelHeadHeight = 40;
const barPitch = 30;
const barHeight = 18;
const panelGap = 18;
const footHeight = 56;

const colors: Record<TargetName, string> = {
  noop: '#8a94a0',
  service: '#17804d',
  full: '#3b6fb6',
  normal: '#c07a1e',
};

export function renderPlot(result: BenchResult): string {
  const { connections, targets: names } = result.settings;
  const panelHeight = panelHeadHeight + names.length * barPitch + panelGap;
  const height = headHeight + connections.length * panelHeight + footHeight;
  const panels = connections.map((count, index) => renderPanel(result, count, headHeight + index * panelHeight));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    `<style>text { font: 13px system-ui, 'DejaVu Sans', sans-serif; fill: #1f2933 } .quiet { fill: #616e7c; font-size: 12px }`,
    `.title { font-size: 20px; font-weight: 600 } .panel { font-size: 14px; font-weight: 600 } .end { text-anchor: end }</style>`,
    `<defs>${names.map(renderHatching).join('')}</defs>`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    renderHead(result),
    ...panels,
    renderFoot(result, height - footHeight + 20),
    '</svg>\n',
  ].join('\n');
}

function renderHead({ environment }: BenchResult): string {
  const { cpu, cores, system, fileSystem, versions } = environment;
  const packages = Object.entries(versions).map((entry) => entry.join(' '));
  return [
    text(margin, 42, 'Creates per second', 'title'),
    text(margin, 66, `${cpu}, ${cores} cores, ${system}, ${fileSystem}`, 'quiet'),
    text(margin, 84, packages.join(', '), 'quiet'),
  ].join('\n');
}

function renderPanel({ rows, settings }: BenchResult, connections: number, top: number): string {
  const own = rows.filter((row) => row.connections === connections);
  const scale = barsWidth / Math.max(...own.map((row) => row.createsPerSecond?.max ?? 0));
  return [
    `<line x1="${margin}" x2="${latenciesRight}" y1="${top}" y2="${top}" stroke="#d9dee4"/>`,
    text(margin, top + 24, connectionsText(connections), 'panel'),
    text(latenciesRight - 80, top + 24, 'p50 ms', 'quiet end'),
    text(latenciesRight, top + 24, 'p99 ms', 'quiet end'),
    ...own.map((row, index) => renderBar(row, scale, top + panelHeadHeight + index * barPitch, settings.rounds > 1)),
  ].join('\n');
}

function renderBar(row: Row, scale: number, top: number, hasSpread: boolean): string {
  const { label, isDurable } = targets[row.target];
  const rate = row.createsPerSecond;
  if (rate === null) return '';
  const fill = isDurable ? colors[row.target] : `url(#${row.target})`;
  const baseline = top + barHeight - 4;
  return [
    text(barsLeft - 12, baseline, label, 'end'),
    `<rect x="${barsLeft}" y="${top}" width="${fixed(rate.median * scale)}" height="${barHeight}" rx="2" fill="${fill}"/>`,
    hasSpread ? renderWhisker(barsLeft + rate.min * scale, barsLeft + rate.max * scale, top + barHeight / 2) : '',
    text(barsLeft + rate.max * scale + 10, baseline, numberText(rate.median, 0)),
    text(latenciesRight - 80, baseline, numberText(row.p50Ms?.median ?? Number.NaN, 2), 'end'),
    text(latenciesRight, baseline, numberText(row.p99Ms?.median ?? Number.NaN, 2), 'end'),
  ].join('\n');
}

function renderWhisker(from: number, to: number, middle: number): string {
  const [left, right] = [fixed(from), fixed(to)];
  const [top, bottom] = [middle - 4, middle + 4];
  return `<path d="M${left} ${top}V${bottom}M${left} ${middle}H${right}M${right} ${top}V${bottom}" stroke="#1f2933" fill="none"/>`;
}

/** Not durable is to be seen at a glance: such bars are hatched. */
function renderHatching(name: TargetName): string {
  return [
    `<pattern id="${name}" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">`,
    `<rect width="6" height="6" fill="${colors[name]}" opacity="0.35"/><rect width="3" height="6" fill="${colors[name]}"/></pattern>`,
  ].join('');
}

function renderFoot({ settings, newPlantBytes, startedAt }: BenchResult, top: number): string {
  const rounds = `median of ${settings.rounds} round${settings.rounds === 1 ? '' : 's'} of ${settings.measureMs / 1000} s, whiskers min to max`;
  return [
    text(margin, top, 'Solid: a 200 means that the plant is on the disk. Hatched: it does not. Longer is better.', 'quiet'),
    text(margin, top + 18, `Closed loop, NewPlant of ${newPlantBytes} bytes; ${rounds}; ${startedAt.slice(0, 10)}`, 'quiet'),
  ].join('\n');
}

function text(x: number, y: number, content: string, classes = ''): string {
  const escaped = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text x="${fixed(x)}" y="${y}" class="${classes}">${escaped}</text>`;
}

function fixed(value: number): string {
  return value.toFixed(1);
}
