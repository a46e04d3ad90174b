import type { Minute } from '../../contract.ts';
import {
  codesText,
  gapsIn,
  type Hour,
  historyFigures,
  hoursOf,
  minutesWithoutService,
  sendersText,
  startsIn,
} from '../../history-figures.ts';
import { type Column, Table } from './components.ts';
import { clockTime, count, figure, localMoment } from './format.ts';
import { html } from './html.ts';

/** The last starts of the service. */
const startsNamed = 4;
const gapsNamed = 2;

/** The last 24 hours in figures. @param minutes empty before they are known */
export function Day({ minutes }: { minutes: readonly Minute[] }) {
  return html`
    <section class="card day">
      <h2>Last 24 hours</h2>
      <dl>${figuresOf(minutes).map(Tile)}</dl>
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
  const starts = startsIn(minutes).map(clock);
  const without = minutesWithoutService(minutes);
  const known = (value: string) => (minutes.length === 0 ? '…' : value);
  return [
    { title: 'Created', value: known(count(created)) },
    { title: 'Failed', value: known(count(failed)), isBad: failed > 0 },
    { title: 'Refused', value: known(count(refused)), more: 'with id taken' },
    {
      title: 'Slowest minute',
      value: slowest ? clock(slowest.atMs) : known('–'),
      ...(slowest && { more: `p99 ${msText(slowest.p99Ms)}` }),
    },
    { title: 'Starts', value: known(starts.slice(-startsNamed).join(', ') || 'none') },
    {
      title: 'Without a service',
      value: known(minutesText(without)),
      isBad: without > 0,
      ...(without > 0 && { more: gapsText(minutes) }),
    },
  ];
}

/** The last times without a service. */
function gapsText(minutes: readonly Minute[]): string {
  const texts = gapsIn(minutes).map(({ fromMs, toMs }) => `${clock(fromMs)}–${clock(toMs)}`);
  return texts.slice(-gapsNamed).join(', ');
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

const columns: readonly Column<Hour>[] = [
  {
    head: 'Hour',
    isTime: true,
    cell: ({ atMs }) =>
      localMoment(new Date(atMs).toISOString()).slice('yyyy-'.length, -':ss'.length),
  },
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

/** A line ends between two pairs of a name and its number. */
function wholePairs(text: string): string {
  return text.replaceAll(': ', ':\u00a0') || '–';
}

/** The text of the charts of a day. */
export function HoursTable({ minutes }: { minutes: readonly Minute[] }) {
  const rows = hoursOf(minutes, (atMs) => new Date(atMs).setMinutes(0, 0, 0));
  return html`
    <details>
      <summary>The last 24 hours as a table</summary>
      <${Table} caption="The last 24 hours, by hour" columns=${columns} rows=${rows} rowKey=${({ atMs }: Hour) => `${atMs}`} />
    </details>`;
}
