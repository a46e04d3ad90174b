/** The result as an SVG: creates/s of each target, a panel for each number of connections. */
import type { Environment } from '../environment.ts';
import { newPlantBytes } from '../plant.ts';
import { fixed, headHeight, margin, renderPage, text, width } from '../svg.ts';
import { type TargetName, targetColors, targets } from '../targets.ts';
import { connectionsText, durationText, numberText } from '../text.ts';
import type { LoadPart, LoadSettings } from './load.ts';
import { type Row, summarize } from './load-summary.ts';

const barsLeft = 280;
const barsWidth = 400;
const latenciesRight = width - margin;
const panelHeadHeight = 40;
const barPitch = 30;
const barHeight = 18;
const panelGap = 18;
const footHeight = 56;

export function renderLoadPlot(part: LoadPart, environment: Environment): string {
  const rows = summarize(part);
  let top = headHeight;
  const panels = part.settings.connections.map((connections) => {
    const own = rows.filter((row) => row.connections === connections);
    const panel = renderPanel(own, connections, top);
    top += panelHeadHeight + own.length * barPitch + panelGap;
    return panel;
  });
  const height = top + footHeight;
  const hatchings = `<defs>${part.settings.targets.map(renderHatching).join('')}</defs>`;
  return renderPage({ title: 'Creates per second', environment, height }, [
    hatchings,
    ...panels,
    renderFoot(part.settings, top + 20),
  ]);
}

function renderPanel(own: Row[], connections: number, top: number): string {
  const scale = barsWidth / Math.max(...own.map((row) => row.createsPerSecond?.max ?? 0));
  return [
    `<line x1="${margin}" x2="${latenciesRight}" y1="${top}" y2="${top}" stroke="#d9dee4"/>`,
    text(margin, top + 24, connectionsText(connections), 'panel'),
    text(latenciesRight - 80, top + 24, 'p50 ms', 'quiet end'),
    text(latenciesRight, top + 24, 'p99 ms', 'quiet end'),
    ...own.map((row, index) => renderBar(row, scale, top + panelHeadHeight + index * barPitch)),
  ].join('\n');
}

function renderBar(row: Row, scale: number, top: number): string {
  const { label, isDurable } = targets[row.target];
  const rate = row.createsPerSecond;
  if (rate === null) return '';
  const fill = isDurable ? targetColors[row.target] : `url(#${row.target})`;
  const baseline = top + barHeight - 4;
  return [
    text(barsLeft - 12, baseline, label, 'end'),
    `<rect x="${barsLeft}" y="${top}" width="${fixed(rate.median * scale)}" height="${barHeight}" rx="2" fill="${fill}"/>`,
    rate.max > rate.min
      ? renderWhisker(barsLeft + rate.min * scale, barsLeft + rate.max * scale, top + barHeight / 2)
      : '',
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
    `<rect width="6" height="6" fill="${targetColors[name]}" opacity="0.35"/><rect width="3" height="6" fill="${targetColors[name]}"/></pattern>`,
  ].join('');
}

function renderFoot({ rounds, measureMs }: LoadSettings, top: number): string {
  const spread = `median of ${rounds} round${rounds === 1 ? '' : 's'} of ${durationText(measureMs)}, whiskers min to max`;
  return [
    text(
      margin,
      top,
      'Solid: a 200 means that the plant is on the disk. Hatched: it does not. Longer is better.',
      'quiet',
    ),
    text(
      margin,
      top + 18,
      `Closed loop, NewPlant of ${newPlantBytes('short')} bytes; ${spread}`,
      'quiet',
    ),
  ].join('\n');
}
