/** Creates per second of each target, in a panel for each number of connections. */
import type { Environment } from '../environment.ts';
import { newPlantBytes } from '../plant.ts';
import { median, spread } from '../statistics.ts';
import { fixed, headHeight, margin, renderPage, text, width } from '../svg.ts';
import { type TargetName, targetColors, targets } from '../targets.ts';
import { connectionsText, durationText, numberText } from '../text.ts';
import { type LoadPart, type LoadSettings, loadRows, type Measurement } from './load.ts';

type Row = [TargetName, Measurement[]];

const barsLeft = 280;
const barsWidth = 400;
const latenciesRight = width - margin;
const panelHeadHeight = 40;
const barPitch = 30;
const barHeight = 18;
const panelGap = 18;
const footHeight = 56;

export function renderLoadPlot(part: LoadPart, environment: Environment): string {
  let top = headHeight;
  const panels = part.settings.connections.map((connections) => {
    const rows = loadRows(part, connections);
    const panel = renderPanel(rows, connections, top);
    top += panelHeadHeight + rows.length * barPitch + panelGap;
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

function renderPanel(rows: Row[], connections: number, top: number): string {
  const rates = rows.flatMap(([, own]) => own.map(({ createsPerSecond }) => createsPerSecond));
  const scale = barsWidth / Math.max(...rates);
  return [
    `<line x1="${margin}" x2="${latenciesRight}" y1="${top}" y2="${top}" stroke="#d9dee4"/>`,
    text(margin, top + 24, connectionsText(connections), 'panel'),
    text(latenciesRight - 80, top + 24, 'p50 ms', 'quiet end'),
    text(latenciesRight, top + 24, 'p99 ms', 'quiet end'),
    ...rows.map((row, index) => renderBar(row, scale, top + panelHeadHeight + index * barPitch)),
  ].join('\n');
}

function renderBar([target, own]: Row, scale: number, top: number): string {
  const { label, isDurable } = targets[target];
  const rate = spread(own.map(({ createsPerSecond }) => createsPerSecond));
  if (rate === null) return '';
  const fill = isDurable ? targetColors[target] : `url(#${target})`;
  const baseline = top + barHeight - 4;
  const [min, max] = [barsLeft + rate.min * scale, barsLeft + rate.max * scale];
  const [p50Ms, p99Ms] = [median(own.map((one) => one.p50Ms)), median(own.map((one) => one.p99Ms))];
  return [
    text(barsLeft - 12, baseline, label, 'end'),
    `<rect x="${barsLeft}" y="${top}" width="${fixed(rate.median * scale)}" height="${barHeight}" rx="2" fill="${fill}"/>`,
    max > min ? renderWhisker(min, max, top + barHeight / 2) : '',
    text(max + 10, baseline, numberText(rate.median, 0)),
    text(latenciesRight - 80, baseline, numberText(p50Ms, 2), 'end'),
    text(latenciesRight, baseline, numberText(p99Ms, 2), 'end'),
  ].join('\n');
}

function renderWhisker(from: number, to: number, middle: number): string {
  const [left, right] = [fixed(from), fixed(to)];
  const [top, bottom] = [middle - 4, middle + 4];
  return `<path d="M${left} ${top}V${bottom}M${left} ${middle}H${right}M${right} ${top}V${bottom}" stroke="#1f2933" fill="none"/>`;
}

/** The fill of targets that are not durable. */
function renderHatching(name: TargetName): string {
  return [
    `<pattern id="${name}" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">`,
    `<rect width="6" height="6" fill="${targetColors[name]}" opacity="0.35"/><rect width="3" height="6" fill="${targetColors[name]}"/></pattern>`,
  ].join('');
}

function renderFoot({ rounds, measureMs }: LoadSettings, top: number): string {
  const measured = `median of ${rounds} round${rounds === 1 ? '' : 's'} of ${durationText(measureMs)}, whiskers min to max`;
  const lines = [
    'Solid: a 200 means that the plant is on the disk. Hatched: it does not. Longer is better.',
    `Closed loop, NewPlant of ${newPlantBytes('short')} bytes; ${measured}`,
  ];
  return lines.map((line, index) => text(margin, top + 18 * index, line, 'quiet')).join('\n');
}
