import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import type { Sample } from '../../contract.ts';
import { clockTime, figure, localMoment, short, startOfHour, zoneAt } from './format.ts';
import { html } from './html.ts';
import { historyPath } from './router.ts';
import { type Curves, curvesOf, type Field, type Span } from './samples.ts';

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
  const data = useMemo(() => curvesOf(samples, lines, span), [samples, span, lines]);
  const [times, ...curves] = data;
  const [firstSeconds = 0] = times;
  const hasStart = [...starts].some((ms) => ms >= firstSeconds * 1_000);
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
  const isGap = (of: number) => !hasSample(samples, times[of]);
  const isStart = at !== undefined && starts.has(at * 1_000);
  const mark = isStart ? ', start' : isGap(index) ? ', no service' : '';
  const time = at === undefined ? '' : `${timeText(at, span)}${mark}`;
  const isRead = pointed !== null || isStale;
  const readings = values.map(({ label, now }) => `${label} ${now}`).join(', ');
  // From one end of a gap, a step leads to the other end.
  const beside = (by: 1 | -1) => {
    let next = index + by;
    while (isGap(index) && times[next] !== undefined && isGap(next)) next += by;
    return next;
  };
  const open = () => {
    if (span.isHistory && isRead && at !== undefined)
      location.hash = historyPath({ hour: `${startOfHour(at * 1_000)}` });
  };
  const step = (event: KeyboardEvent) => {
    if (event.key === 'Enter') return open();
    const to = {
      ...{ ArrowLeft: () => beside(-1), ArrowRight: () => beside(1) },
      ...{ Home: () => 0, End: () => times.length - 1 },
    };
    const next = to[event.key as keyof typeof to]?.();
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
        <span class="quiet at">${isRead ? time : hasStart && html`<span class="start" title="A service was started">start</span>`}</span>
        <dl class="readings">
          ${values.map(({ label, now }, line) => html`<div class=${lines[line]?.colour.slice(2)}><dt>${label}</dt><dd>${now}</dd></div>`)}
        </dl>
      </figcaption>
      <div ref=${element} class=${span.isHistory ? 'opens-hour' : ''} role="img" tabindex="0" onClick=${open} onKeyDown=${step} onBlur=${leave} aria-label="${title}, ${unit}, in the last ${span.words}: ${summary}"></div>
      <span class="unseen" role="status">${isKeyed && `${time}: ${readings}`}</span>
    </figure>`;
}

function hasSample(samples: readonly Sample[], seconds: number | undefined): boolean {
  return samples.some(({ atMs }) => atMs / 1_000 === seconds);
}

/** Of a minute with its day, `11-22 07:14 UTC+1`; of a second `07:14:49`. */
function timeText(seconds: number, { isHistory }: Span): string {
  if (!isHistory) return clockTime(seconds * 1_000);
  const time = new Date(seconds * 1_000).toISOString();
  return `${localMoment(time).slice('yyyy-'.length, -':ss'.length)} ${zoneAt(time)}`;
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
        min: span.isHistory
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
  { isHistory }: Span,
  starts: { readonly current: ReadonlySet<number> },
  onPoint: (index: number | null) => void,
): uPlot.Options {
  const clockChars = isHistory ? 5 : 8;
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
    cursor: {
      ...{ sync: { key: 'charts' }, drag: { x: false }, y: false, points: { size: 6 } },
      move: (plot, left, top) => [nearestLeft(plot, left), top],
    },
    scales: { x: { time: true }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [
      {
        ...axis,
        size: 24,
        gap: 6,
        space: isHistory ? 45 : 60,
        incrs: stepsSeconds,
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
      draw: [
        (plot) => drawStarts(plot, starts.current, colour('--quiet')()),
        (plot) => drawFailures(plot, lines, colour('--line-bad')()),
      ],
    },
  };
}

/** Where the line of the pointer stands: on the point whose values are read. */
function nearestLeft(plot: uPlot, left: number): number {
  const seconds = plot.data[0][plot.posToIdx(left)];
  return left < 0 || seconds === undefined ? left : plot.valToPos(seconds, 'x');
}

/** Between two times of the axis. */
const stepsSeconds = [
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60),
  ...[1, 2, 3, 4, 6, 8, 12].map((hours) => hours * 3_600),
];

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

const failureMark = { widthPx: 3, heightPx: 6 };

/** Marks at the upper edge: few failures beside many refusals lie on the axis. */
function drawFailures(plot: uPlot, lines: readonly Line[], colour: string): void {
  const index = lines.findIndex(({ field }) => field === 'failedPerSecond');
  const { ctx, bbox } = plot;
  const [width, height] = [failureMark.widthPx, failureMark.heightPx].map(
    (px) => px * uPlot.pxRatio,
  ) as [number, number];
  ctx.save();
  ctx.fillStyle = colour;
  for (const [at, value] of (plot.data[index + 1] ?? []).entries()) {
    if (index < 0 || !value) continue;
    const left = plot.valToPos(plot.data[0][at] ?? 0, 'x', true);
    if (left >= bbox.left) ctx.fillRect(left - width / 2, bbox.top, width, height);
  }
  ctx.restore();
}
