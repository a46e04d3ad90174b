import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { numberText } from '../../../quantity-text.ts';
import type { Sample } from '../../contract.ts';
import { h } from './ui.ts';

type Lines = Readonly<Record<string, Exclude<keyof Sample, 'atMs'>>>;

export interface ChartProps {
  readonly title: string;
  readonly unit: string;
  readonly lines: Lines;
  readonly samples: readonly Sample[];
}

/** So that curves differ by more than their colour, which is the property `--line-1` and so on. */
const dashes = [[], [5, 3], [2, 2]];

/** Curves of the last minutes, and as text the values at the pointer or else the last ones. */
export function Chart({ title, unit, lines, samples }: ChartProps) {
  const [pointed, setPointed] = useState<number | undefined>();
  const frame = usePlot(lines, samples, setPointed);
  const sample = samples[pointed ?? -1] ?? samples.at(-1);
  const readings = Object.entries(lines).map(
    ([label, field]) => [label, figure(sample?.[field] ?? null)] as const,
  );
  const summary = readings.map((reading) => reading.join(' ')).join(', ');
  const time = pointed === undefined || !sample ? '' : clockText(sample.atMs);
  return h(
    'figure',
    { class: 'card chart' },
    h(
      'figcaption',
      {},
      h('h2', {}, title, ' ', h('small', { class: 'quiet' }, time || unit)),
      readings.map(([label, text], index) =>
        h('span', { class: `reading line-${index + 1}` }, label, ' ', h('b', {}, text)),
      ),
    ),
    h('div', { ref: frame, role: 'img', 'aria-label': `${title}, ${unit}: ${summary}` }),
  );
}

/** Three significant digits. */
function figure(value: number | null): string {
  if (value === null) return '–';
  return numberText(value, value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

const compact = new Intl.NumberFormat('en', { notation: 'compact' });

function clockText(ms: number): string {
  return new Date(ms).toLocaleTimeString('sv-SE');
}

type OnPoint = (index: number | undefined) => void;

function usePlot(lines: Lines, samples: readonly Sample[], onPoint: OnPoint) {
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  useEffect(() => {
    const element = frame.current as HTMLDivElement;
    const options = optionsFor(element, lines, onPoint);
    const made = (plot.current = new uPlot(options, undefined, element));
    const fit = () => made.setSize({ width: element.clientWidth, height: element.clientHeight });
    const resizing = new ResizeObserver(fit);
    const darkness = matchMedia('(prefers-color-scheme: dark)');
    const repaint = () => made.redraw();
    resizing.observe(element);
    darkness.addEventListener('change', repaint);
    return () => {
      resizing.disconnect();
      darkness.removeEventListener('change', repaint);
      made.destroy();
    };
  }, [lines]);
  useEffect(() => {
    const times = samples.map(({ atMs }) => atMs / 1_000);
    const curves = Object.values(lines).map((field) => samples.map((sample) => sample[field]));
    const [first = 0, last = 0] = [times[0], times.at(-1)];
    plot.current?.batch(() => {
      plot.current?.setData([times, ...curves], false);
      plot.current?.setScale('x', { min: Math.min(first, last - shortestSeconds), max: last });
    });
  }, [lines, samples]);
  return frame;
}

/** Least width of the time axis, for a service that has just started. */
const shortestSeconds = 60;

function optionsFor(element: HTMLElement, lines: Lines, onPoint: OnPoint): uPlot.Options {
  // A custom property has the colours of both themes; a property has that of the theme.
  const colour = (name: string) => () => {
    element.style.color = `var(${name})`;
    return getComputedStyle(element).color;
  };
  const axis = {
    stroke: colour('--quiet'),
    font: '11px system-ui',
    ticks: { show: false },
    grid: { stroke: colour('--rule'), width: 1 },
    gap: 6,
  };
  return {
    width: element.clientWidth,
    height: element.clientHeight,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { sync: { key: 'charts' }, drag: { x: false }, y: false, points: { size: 6 } },
    scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [
      {
        ...axis,
        size: 24,
        space: 70,
        values: (_, seconds) => seconds.map((at) => clockText(at * 1_000).slice(0, -':ss'.length)),
        incrs: [60, 120, 300, 600],
      },
      { ...axis, size: 44, space: 30, values: (_, values) => values.map(compact.format) },
    ],
    series: [
      {},
      ...Object.keys(lines).map((label, index) => ({
        label,
        stroke: colour(`--line-${index + 1}`),
        dash: dashes[index] ?? [],
        width: 1.5,
        points: { show: false },
      })),
    ],
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? undefined)] },
  };
}
