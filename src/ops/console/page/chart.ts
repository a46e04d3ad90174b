import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import type { Sample } from '../../contract.ts';
import { clockTime, figure, localTime, short } from './format.ts';
import { html } from './html.ts';
import { type Curves, curvesOf, type Field, type Span, within } from './samples.ts';

export interface Line {
  readonly label: string;
  readonly field: Field;
  /** The custom property of the style sheet with the colour. */
  readonly colour: keyof typeof dashOf;
}

/** So that curves differ by more than their colour. */
const dashOf = { '--line-1': [], '--line-2': [5, 2], '--line-3': [2, 2], '--line-bad': [] };

export interface ChartProps {
  readonly title: string;
  readonly unit: string;
  readonly lines: readonly Line[];
  readonly samples: readonly Sample[];
  readonly span: Span;
  /** Times of samples in which a service was started. */
  readonly starts: ReadonlySet<number>;
  /** Whether the latest samples are missing: the chart is grey and shows its time. */
  readonly isStale: boolean;
}

const heightPx = 170;
/** Least width of the time axis, for a service that has just started. */
const shortestSeconds = 15;

/** Curves of the last minutes, and as text the last values or the values at the pointer. */
export function Chart({ title, unit, lines, samples, span, starts, isStale }: ChartProps) {
  const [pointed, setPointed] = useState<number | null>(null);
  const [isKeyed, setKeyed] = useState(false);
  const data = useMemo(
    () => curvesOf(within(samples, span.minutes), lines, span),
    [samples, span, lines],
  );
  const [times, ...curves] = data;
  const { element, point } = usePlot(lines, data, span, starts, isStale, setPointed);
  const index = pointed !== null && pointed < times.length ? pointed : times.length - 1;
  const at = times[index];
  const values = lines.map(({ label }, line) => ({
    label,
    now: text(curves[line]?.[index]),
    most: text(largest(curves[line])),
  }));
  const summary = values
    .map(({ label, now, most }) => `${label} ${now}, at most ${most}`)
    .join('; ');
  const time = at === undefined ? '' : timeText(at * 1_000, span, starts);
  const readings = values.map(({ label, now }) => `${label} ${now}`).join(', ');
  const step = (event: KeyboardEvent) => {
    const to = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: times.length - 1 };
    const next = to[event.key as keyof typeof to];
    if (next === undefined || times[next] === undefined) return;
    event.preventDefault();
    setKeyed(true);
    point(next);
  };
  const leave = () => {
    setKeyed(false);
    point(null);
  };
  return html`
    <figure class="card chart ${isStale ? 'stale' : ''}">
      <figcaption>
        <h2>${title} <span class="quiet">${unit}</span></h2>
        ${(pointed !== null || isStale) && at !== undefined && html`<span class="quiet at">${time}</span>`}
        <dl class="readings">
          ${values.map(({ label, now }, line) => html`<div class=${lines[line]?.colour.slice(2)}><dt>${label}</dt><dd>${now}</dd></div>`)}
        </dl>
      </figcaption>
      <div ref=${element} role="img" tabindex="0" onKeyDown=${step} onBlur=${leave} aria-label="${title}, ${unit}, in the last ${span.words}: ${summary}"></div>
      <span class="unseen" role="status">${isKeyed && `${time}: ${readings}`}</span>
    </figure>`;
}

function timeText(ms: number, { id }: Span, starts: ReadonlySet<number>): string {
  const time = id === '24h' ? localTime(new Date(ms).toISOString()) : clockTime(ms);
  return starts.has(ms) ? `${time}, start of the service` : time;
}

function text(value: number | null | undefined): string {
  return typeof value === 'number' ? figure(value) : '–';
}

function largest(curve: readonly (number | null)[] = []): number | undefined {
  const values = curve.filter((value) => value !== null);
  return values.length === 0 ? undefined : Math.max(...values);
}

/** @returns a ref for the element that shows the plot, in its full width */
function usePlot(
  lines: readonly Line[],
  data: Curves,
  span: Span,
  starts: ReadonlySet<number>,
  isStale: boolean,
  onPoint: (index: number | null) => void,
) {
  const element = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const marks = useRef(starts);
  marks.current = starts;
  useEffect(() => {
    const frame = element.current as HTMLDivElement;
    const created = (plot.current = new uPlot(
      optionsFor(frame, lines, span, marks, onPoint),
      [[]],
      frame,
    ));
    const resizing = new ResizeObserver(() =>
      created.setSize({ width: frame.clientWidth, height: heightPx }),
    );
    const darkness = matchMedia('(prefers-color-scheme: dark)');
    const repaint = () => created.redraw();
    resizing.observe(frame);
    darkness.addEventListener('change', repaint);
    return () => {
      resizing.disconnect();
      darkness.removeEventListener('change', repaint);
      created.destroy();
    };
  }, [lines, span]);
  useEffect(() => {
    const [firstSeconds = 0, lastSeconds = 0] = [data[0][0], data[0].at(-1)];
    plot.current?.batch(() => {
      plot.current?.setData(data as unknown as uPlot.AlignedData, false);
      plot.current?.setScale('x', {
        min:
          span.id === '24h'
            ? lastSeconds - span.minutes * 60
            : Math.min(firstSeconds, lastSeconds - shortestSeconds),
        max: lastSeconds,
      });
    });
  }, [lines, span, data]);
  useEffect(() => plot.current?.redraw(), [isStale, starts]);
  const point = (index: number | null) => {
    const seconds = index === null ? undefined : data[0][index];
    const left = seconds === undefined ? -10 : (plot.current?.valToPos(seconds, 'x') ?? -10);
    plot.current?.setCursor({ left, top: 0 });
  };
  return { element, point };
}

/** A value without neighbours is a point, because no line leads to it. */
const points: uPlot.Series.Points = {
  show: false,
  size: 4,
  filter: ({ data }, series) => loneIndices(data[series] ?? []),
};

function loneIndices(values: ArrayLike<number | null | undefined>): number[] {
  const isThere = (index: number) => typeof values[index] === 'number';
  return Array.from(values, (_, index) => index).filter(
    (index) => isThere(index) && !isThere(index - 1) && !isThere(index + 1),
  );
}

function optionsFor(
  element: HTMLElement,
  lines: readonly Line[],
  { id }: Span,
  starts: { readonly current: ReadonlySet<number> },
  onPoint: (index: number | null) => void,
): uPlot.Options {
  const clockChars = id === '24h' ? 5 : 8;
  const colour = (name: string) => () => getComputedStyle(element).getPropertyValue(name);
  const axis = {
    stroke: colour('--quiet'),
    font: '11px system-ui',
    ticks: { show: false },
    grid: { stroke: colour('--rule'), width: 1 },
  };
  return {
    width: element.clientWidth,
    height: heightPx,
    padding: [8, null, 0, 0],
    legend: { show: false },
    cursor: { sync: { key: 'charts' }, drag: { x: false }, y: false, points: { size: 6 } },
    scales: { x: { time: true }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [
      {
        ...axis,
        size: 24,
        gap: 6,
        space: 60,
        values: (_, seconds) => seconds.map((at) => clockTime(at * 1_000).slice(0, clockChars)),
      },
      { ...axis, size: 44, gap: 6, space: 34, values: (_, values) => values.map(short) },
    ],
    series: [
      {},
      ...lines.map(({ label, colour: name }) => ({
        label,
        stroke: colour(name),
        dash: dashOf[name],
        width: 1.5,
        points,
      })),
    ],
    hooks: {
      setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)],
      draw: [(plot) => drawStarts(plot, starts.current, colour('--quiet')())],
    },
  };
}

/** A dashed line where a service was started. */
function drawStarts(plot: uPlot, starts: ReadonlySet<number>, colour: string): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.setLineDash([2, 4]);
  for (const ms of starts) {
    const left = plot.valToPos(ms / 1_000, 'x', true);
    if (left < bbox.left) continue;
    ctx.beginPath();
    ctx.moveTo(left, bbox.top);
    ctx.lineTo(left, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}
