import type { Minute, Time } from '../../contract.ts';
import {
  type CodeCount,
  type HistoryFigures,
  historyFigures,
  minutesWithoutService,
  refusalsByCode,
  startsIn,
} from '../../history-figures.ts';
import { type Column, Table } from './components.ts';
import { clockTime, count, figure, localTime } from './format.ts';
import { html } from './html.ts';

/** The last starts of the service. */
const startsNamed = 4;

interface DayProps {
  readonly minutes: readonly Minute[] | undefined;
  /** Undefined before it is known. */
  readonly startedAt: Time | undefined;
}

/** The last 24 hours in figures. */
export function Day({ minutes, startedAt }: DayProps) {
  return html`
    <section class="card day">
      <h2>Last 24 hours</h2>
      ${minutes?.length === 0 ? html`<p class="quiet">The first minute is written when it has ended.</p>` : html`<dl>${figuresOf(minutes ?? [], startedAt).map(Tile)}</dl>`}
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

function figuresOf(minutes: readonly Minute[], startedAt: Time | undefined): readonly Figure[] {
  const { created, failed, refused, slowest } = historyFigures(minutes);
  const starts = startsIn(minutes, startedAt).map(clock);
  const without = minutesWithoutService(minutes);
  const known = (value: string) => (minutes.length === 0 ? '…' : value);
  return [
    { title: 'Created', value: known(count(created)) },
    { title: 'Failed', value: known(count(failed)), isBad: failed > 0 },
    { title: 'Refused', value: known(count(refused)) },
    {
      title: 'Slowest minute',
      value: slowest ? clock(slowest.atMs) : known('–'),
      ...(slowest && { more: `p99 ${msText(slowest.p99Ms)}` }),
    },
    { title: 'Starts', value: known(starts.slice(-startsNamed).join(', ') || 'none') },
    { title: 'Without a service', value: known(minutesText(without)), isBad: without > 0 },
  ];
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

interface Hour extends HistoryFigures {
  readonly codes: readonly CodeCount[];
  readonly atMs: number;
  readonly minutes: number;
}

const columns: readonly Column<Hour>[] = [
  { head: 'Hour', cell: ({ atMs }) => localTime(new Date(atMs).toISOString()) },
  { head: 'Created', cell: ({ created }) => count(created), isNumber: true },
  { head: 'Same', cell: ({ same }) => count(same), isNumber: true },
  { head: 'Failed', cell: ({ failed }) => count(failed), isNumber: true },
  { head: 'Refused', cell: ({ refused }) => count(refused), isNumber: true },
  { head: 'By code', cell: ({ codes }) => codesText(codes) },
  {
    head: 'Slowest minute',
    cell: ({ slowest }) => (slowest ? `${clock(slowest.atMs)}, p99 ${msText(slowest.p99Ms)}` : '–'),
    isNumber: true,
  },
  { head: 'Minutes', cell: ({ minutes }) => minutes, isNumber: true },
];

const codesNamed = 3;

function codesText(codes: readonly CodeCount[]): string {
  const named = codes.slice(0, codesNamed).map((one) => `${one.code}: ${count(one.count)}`);
  const more = codes.length - named.length;
  return [...named, ...(more > 0 ? [`${more} more`] : [])].join(', ') || '–';
}

/** The text of the charts of a day. */
export function HoursTable({ minutes }: { minutes: readonly Minute[] }) {
  const byHour = Map.groupBy(minutes, ({ atMs }) => new Date(atMs).setMinutes(0, 0, 0));
  const rows = Array.from(byHour, ([atMs, of]) => ({
    atMs,
    minutes: of.length,
    codes: refusalsByCode(of),
    ...historyFigures(of),
  }));
  return html`
    <details>
      <summary>The last 24 hours as a table</summary>
      <${Table} caption="The last 24 hours, by hour" columns=${columns} rows=${rows} rowKey=${({ atMs }: Hour) => `${atMs}`} />
    </details>`;
}
