import type { Minute } from '../../contract.ts';
import {
  codesText,
  type Gap,
  gapsIn,
  type Hour,
  historyFigures,
  hoursOf,
  minutesWithoutService,
  sendersText,
  serviceText,
  startsIn,
  withGaps,
} from '../../history-figures.ts';
import { type Column, Facts, Table } from './components.ts';
import { clockTime, count, figure, localMoment } from './format.ts';
import { html } from './html.ts';

/** The last 24 hours in figures. @param minutes empty before they are known */
export function Day({ minutes }: { minutes: readonly Minute[] }) {
  return html`
    <section class="card">
      <h2>Last 24 hours</h2>
      <dl class="figures">${figuresOf(minutes).map(Tile)}</dl>
      <${Times} starts=${startsIn(minutes)} gaps=${gapsIn(minutes)} />
    </section>`;
}

interface Figure {
  readonly title: string;
  readonly value: string;
  readonly more?: string;
  readonly isBad?: boolean;
}

function Tile({ title, value, more, isBad = false }: Figure) {
  return html`<div><dt>${title}</dt><dd class=${isBad ? 'is-bad' : ''}>${value} ${more && html`<span class="quiet">${more}</span>`}</dd></div>`;
}

function figuresOf(minutes: readonly Minute[]): readonly Figure[] {
  const { created, failed, refused, slowest } = historyFigures(minutes);
  const taken = minutes.reduce((sum, minute) => sum + minute.taken, 0);
  const starts = startsIn(minutes);
  const lastStart = starts.at(-1);
  const gaps = gapsIn(minutes);
  const longestGap = gaps.toSorted((one, other) => lengthOf(other) - lengthOf(one))[0];
  const without = minutesWithoutService(minutes);
  const known = (value: string) => (minutes.length === 0 ? '…' : value);
  return [
    { title: 'Created', value: known(count(created)) },
    { title: 'Failed', value: known(count(failed)), isBad: failed > 0 },
    {
      title: 'Refused',
      value: known(count(refused)),
      ...(taken > 0 && { more: `of which ${count(taken)} id taken` }),
    },
    {
      title: 'Slowest minute',
      value: slowest ? clock(slowest.atMs) : known('–'),
      ...(slowest && { more: `p99 ${msText(slowest.p99Ms)}` }),
    },
    {
      title: 'Starts',
      value: known(count(starts.length)),
      ...(lastStart !== undefined && { more: `the last ${clock(lastStart)}` }),
    },
    {
      title: 'Without a service',
      value: known(minutesText(without)),
      isBad: without > 0,
      ...(longestGap && { more: `${gaps.length > 1 ? 'the longest ' : ''}${gapText(longestGap)}` }),
    },
  ];
}

function lengthOf({ fromMs, toMs }: Gap): number {
  return toMs - fromMs;
}

function gapText({ fromMs, toMs }: Gap): string {
  return `${clock(fromMs)}–${clock(toMs)}`;
}

/** All starts and gaps, of which the tiles name one. */
function Times({ starts, gaps }: { starts: readonly number[]; gaps: readonly Gap[] }) {
  if (starts.length < 2 && gaps.length < 2) return null;
  const facts = [
    ['Starts', starts.map(clock).join(', ') || 'none'],
    ['Without a service', gaps.map(gapText).join(', ') || 'never'],
  ] as const;
  return html`
    <details>
      <summary>All starts and times without a service</summary>
      <${Facts} facts=${facts} />
    </details>`;
}

function minutesText(minutes: number): string {
  return minutes === 1 ? '1 minute' : `${count(minutes)} minutes`;
}

function clock(ms: number): string {
  return clockTime(ms).slice(0, 5);
}

function msText(ms: number | null): string {
  return ms === null ? '–' : `${figure(ms)} ms`;
}

const hourColumn: Column<Hour> = {
  head: 'Hour',
  isTime: true,
  cell: ({ atMs }) =>
    localMoment(new Date(atMs).toISOString()).slice('yyyy-'.length, -':ss'.length),
};

const figureColumns: readonly Column<Hour>[] = [
  { head: 'Created', cell: ({ created }) => count(created), isNumber: true },
  { head: 'Failed', cell: ({ failed }) => count(failed), isNumber: true },
  {
    head: 'Refused by code',
    cell: ({ refusals }) => wholePairs(codesText(refusals)),
  },
  { head: 'Refused by client', cell: ({ senders }) => wholePairs(sendersText(senders)) },
  {
    head: 'p99 at most',
    cell: ({ slowest }) => msText(slowest?.p99Ms ?? null),
    isNumber: true,
  },
];

const columns: readonly Column<Hour>[] = [
  hourColumn,
  ...figureColumns.map(ofService),
  { head: 'Service', cell: serviceText },
];

/** Empty for an hour in which no service ran. */
function ofService(column: Column<Hour>): Column<Hour> {
  return { ...column, cell: (hour) => (hour.minutes === 0 ? '' : column.cell(hour)) };
}

/** A line ends between two pairs of a name and its number. */
function wholePairs(text: string): string {
  return text.replaceAll(': ', ':\u00a0') || '–';
}

/** The text of the charts of a day. */
export function HoursTable({ minutes }: { minutes: readonly Minute[] }) {
  const rows = withGaps(hoursOf(minutes, (atMs) => new Date(atMs).setMinutes(0, 0, 0)));
  return html`
    <details class="hours">
      <summary>The last 24 hours as a table</summary>
      <${Table} caption="The last 24 hours, by hour" columns=${columns} rows=${rows} rowKey=${({ atMs }: Hour) => `${atMs}`} />
    </details>`;
}
