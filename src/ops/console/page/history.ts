import { useMemo } from 'preact/hooks';
import { problemTitle } from '../../../contract/problems.ts';
import { limits } from '../../../limits.ts';
import type { Crash, Minute } from '../../contract.ts';
import {
  crashText,
  gapsIn,
  historyFigures,
  hoursOf,
  isFailure,
  refusalsBySender,
  type SenderCode,
  serviceText,
  startsIn,
  withGaps,
} from '../../history-figures.ts';
import { type Api, ApiError } from './api.ts';
import { type Column, ExactText, Failure, LocalTime, Skeleton, Table } from './components.ts';
import {
  count,
  figure,
  lengthText,
  localMoment,
  minuteClock,
  startOfHour,
  zoneNow,
} from './format.ts';
import { html } from './html.ts';
import { type HistoryView, historyPath, replacePath } from './router.ts';
import { useHistory, withBegun } from './samples.ts';

const { minuteMs } = limits.history;
const hourMs = 60 * minuteMs;

function viewFrom(query: URLSearchParams): HistoryView {
  const [code = '', token = '', hour = ''] = ['code', 'token', 'hour'].map(
    (name) => query.get(name) ?? '',
  );
  return { code, token, hour };
}

/** The last 24 hours of all services: by hour, or an hour by minute. The address tells what is shown. */
export function HistoryPage({ api, query }: { api: Api; query: URLSearchParams }) {
  const { answer, error, isStale } = useHistory(api);
  const minutes = useMemo(() => withBegun(answer), [answer]);
  const view = viewFrom(query);
  const failure = html`<${Failure} error=${error instanceof ApiError ? error : undefined} />`;
  if (!answer) return html`${failure}<${Skeleton} rows=${10} />`;
  return html`
    <p class="lead">The last 24 hours of all services on the store, also before the last start. Times are in ${zoneNow()}.</p>
    ${failure}
    ${isStale && html`<p class="note changed">The service does not answer. The figures may be old.</p>`}
    <${Filters} minutes=${minutes} view=${view} />
    ${view.hour === '' && view.code === '' && view.token === '' && html`<${Stops} minutes=${minutes} crashes=${answer.crashes} />`}
    <${Rows} minutes=${minutes} view=${view} />`;
}

interface ShownProps {
  readonly minutes: readonly Minute[];
  readonly view: HistoryView;
}

type ChangeEvent = { readonly currentTarget: HTMLSelectElement };

function Filters({ minutes, view }: ShownProps) {
  const all = refusalsBySender(minutes);
  const codes = [...new Set(all.map(({ code }) => `${code}`)), view.code]
    .filter((code) => /^\d+$/.test(code))
    .sort();
  const names = [...new Set(all.map(({ name }) => name ?? '')), view.token]
    .filter((name) => name !== '')
    .sort();
  const show = (change: Partial<HistoryView>) =>
    replacePath(historyPath({ ...view, ...change }).slice('#'.length));
  return html`
    <form role="search" class="filters" onSubmit=${(event: Event) => event.preventDefault()}>
      <label>Outcome
        <select name="code" value=${view.code} onChange=${({ currentTarget }: ChangeEvent) => show({ code: currentTarget.value })}>
          <option value="">all</option>
          <option value="failed">failures</option>
          <option value="refused">refusals</option>
          ${[...new Set(codes)].map((code) => html`<option value=${code}>${code} ${problemTitle(Number(code))}</option>`)}
        </select>
      </label>
      <label>Client
        <select name="token" value=${view.token} onChange=${({ currentTarget }: ChangeEvent) => show({ token: currentTarget.value })}>
          <option value="">all</option>
          ${[...new Set(names)].map((name) => html`<option value=${name}>${name}</option>`)}
        </select>
      </label>
      ${view.hour !== '' && html`<p class="back"><a href=${historyPath({ ...view, hour: '' })}>All hours</a></p>`}
    </form>`;
}

/** A start, and the time without a service before it. */
interface Stop {
  /** Undefined: no minute is without a service. */
  readonly fromMs?: number;
  readonly toMs: number;
  readonly isAfterCrash?: boolean;
}

const stopColumns: readonly Column<Stop>[] = [
  {
    head: 'Started',
    isTime: true,
    cell: ({ toMs }) => html`<${LocalTime} time=${timeOf(toMs)} isMinute />`,
  },
  {
    head: 'Without a service since',
    isTime: true,
    cell: ({ fromMs }) =>
      fromMs === undefined ? '' : html`<${LocalTime} time=${timeOf(fromMs)} isMinute />`,
  },
  {
    head: 'For',
    isNumber: true,
    cell: ({ fromMs, toMs }) =>
      fromMs === undefined ? 'less than a minute' : gapText(toMs - fromMs),
  },
];

const afterColumn: Column<Stop> = {
  head: 'After',
  cell: ({ isAfterCrash }) => (isAfterCrash ? html`<span class="is-bad">${crashText}</span>` : ''),
};

const stopsShown = 10;

interface StopsProps {
  readonly minutes: readonly Minute[];
  readonly crashes: readonly Crash[];
}

/** Starts and times without a service, newest first. */
function Stops({ minutes, crashes }: StopsProps) {
  const gaps: readonly Stop[] = gapsIn(minutes);
  const starts = startsIn(minutes).filter((atMs) => gaps.every(({ toMs }) => toMs !== atMs));
  const known = [...gaps, ...starts.map((toMs) => ({ toMs }))].sort(
    (one, other) => other.toMs - one.toMs,
  );
  const next = crashes.map(({ lastMs }) => known.findLast(({ toMs }) => toMs > lastMs));
  const stops = known.map((stop) => ({ ...stop, isAfterCrash: next.includes(stop) }));
  const columns = crashes.length > 0 ? [...stopColumns, afterColumn] : stopColumns;
  const older = stops.length - stopsShown;
  if (stops.length === 0) return html`<p>The service was not stopped in the last 24 hours.</p>`;
  return html`
      <h2>Starts, and times without a service</h2>
      <div class="hours"><${Table} caption="Starts, and times without a service" columns=${columns} rows=${stops.slice(0, stopsShown)} rowKey=${({ toMs }: Stop) => `${toMs}`} /></div>
      ${older > 0 && html`<p>${count(older)} earlier ${older === 1 ? 'start is' : 'starts are'} not in this list. The table of hours below has their minutes.</p>`}`;
}

/** An hour, or a minute of it. */
interface Row {
  readonly atMs: number;
  readonly minutes: readonly Minute[];
  /** As `serviceText`, or that a service was started. */
  readonly service: string;
}

function Rows({ minutes, view }: ShownProps) {
  const hour = Number(view.hour);
  const isHour = view.hour !== '' && Number.isFinite(hour);
  const isWanted = wanted(view);
  const isFiltered = view.code !== '' || view.token !== '';
  const all = isHour ? minuteRows(minutes, hour) : hourRows(minutes);
  const rows = all.filter((row) => !isFiltered || refusalsBySender(row.minutes).some(isWanted));
  const caption = isHour ? `The minutes from ${minuteClock(hour)}` : 'The last 24 hours, by hour';
  if (rows.length === 0)
    return html`<section class="card empty"><h2>${isFiltered ? 'No such refusal' : 'Nothing is known'}</h2><p>${isHour ? 'This hour' : 'The last 24 hours'} had none.</p></section>`;
  const columns = isFiltered
    ? filteredColumns(view, isHour, isWanted)
    : allColumns(view, isHour, isWanted);
  return html`
      <h2>${isHour ? `${localMoment(timeOf(hour)).slice(0, -':ss'.length)}, by minute` : 'By hour'}</h2>
      ${isFiltered && html`<${Sum} rows=${rows} isWanted=${isWanted} />`}
      <div class="hours by-hour"><${Table} caption=${caption} columns=${columns} rows=${rows} rowKey=${({ atMs }: Row) => `${atMs}`} /></div>`;
}

type Wanted = (refusals: SenderCode) => boolean;

function wanted({ code, token }: HistoryView): Wanted {
  const isOfCode = (one: number) =>
    code === '' || `${one}` === code || (isFailure(one) ? 'failed' : 'refused') === code;
  return (one) => isOfCode(one.code) && (token === '' || one.name === token);
}

function hourRows(minutes: readonly Minute[]): readonly Row[] {
  const byHour = Map.groupBy(minutes, ({ atMs }) => startOfHour(atMs));
  return withGaps(hoursOf(minutes, startOfHour))
    .map((hour) => ({
      atMs: hour.atMs,
      minutes: byHour.get(hour.atMs) ?? [],
      service: serviceText(hour),
    }))
    .toReversed();
}

function minuteRows(minutes: readonly Minute[], hourAtMs: number): readonly Row[] {
  const gaps = gapsIn(minutes);
  const known = minutes.filter(({ atMs }) => atMs >= hourAtMs && atMs < hourAtMs + hourMs);
  const without = gaps.flatMap(({ fromMs, toMs }) => {
    const from = Math.max(fromMs, hourAtMs);
    const lengthMs = Math.min(toMs, hourAtMs + hourMs) - from;
    const service = `down ${gapText(lengthMs)}`;
    return lengthMs > 0 ? [{ atMs: from, minutes: [], service }] : [];
  });
  return [
    ...known.map((minute) => ({
      ...{ atMs: minute.atMs, minutes: [minute] },
      service: minute.hasStart ? 'start' : '',
    })),
    ...without,
  ].sort((one, other) => one.atMs - other.atMs);
}

function timeColumn(view: HistoryView, isHour: boolean): Column<Row> {
  if (isHour) return { head: 'Minute', isTime: true, cell: ({ atMs }) => minuteClock(atMs) };
  return {
    head: 'Hour',
    isTime: true,
    cell: ({ atMs }) =>
      html`<a href=${historyPath({ ...view, hour: `${atMs}` })} title="By minute">${hourText(atMs)}</a>`,
  };
}

function hourText(atMs: number): string {
  return localMoment(timeOf(atMs)).slice('yyyy-'.length, -':ss'.length);
}

function allColumns(view: HistoryView, isHour: boolean, isWanted: Wanted): readonly Column<Row>[] {
  const figures = (row: Row) => historyFigures(row.minutes);
  const columns: readonly Column<Row>[] = [
    { head: 'Created', isNumber: true, cell: (row) => count(figures(row).created) },
    {
      head: 'Failed',
      isNumber: true,
      cell: (row) => {
        const { failed } = figures(row);
        return html`<span class=${failed > 0 ? 'is-bad' : ''}>${count(failed)}</span>`;
      },
    },
    { head: 'Refused', isNumber: true, cell: (row) => count(figures(row).refused) },
    bySender(view, isWanted),
    {
      head: isHour ? 'p99' : 'p99 at most',
      isNumber: true,
      cell: (row) => {
        const p99Ms = figures(row).slowest?.p99Ms ?? null;
        return p99Ms === null ? '–' : `${figure(p99Ms)}\u00a0ms`;
      },
    },
  ];
  return [
    timeColumn(view, isHour),
    ...columns.map(ofService),
    { head: 'Service', cell: ({ service }) => service },
  ];
}

/** Empty for a time in which no service ran. */
function ofService(column: Column<Row>): Column<Row> {
  return { ...column, cell: (row) => (row.minutes.length === 0 ? '' : column.cell(row)) };
}

function filteredColumns(
  view: HistoryView,
  isHour: boolean,
  isWanted: Wanted,
): readonly Column<Row>[] {
  const ofHour: readonly Column<Row>[] = [
    {
      head: 'Between',
      cell: (row) => {
        const { firstMs, lastMs } = extentOf(row.minutes, isWanted);
        return html`<span class="moment">${minuteClock(firstMs)}–${minuteClock(lastMs + minuteMs)}</span>`;
      },
    },
  ];
  return [
    timeColumn(view, isHour),
    { head: 'Requests', isNumber: true, cell: (row) => count(sumOf(row.minutes, isWanted)) },
    ...(isHour ? [] : ofHour),
    bySender(view, isWanted),
  ];
}

function sumOf(minutes: readonly Minute[], isWanted: Wanted): number {
  return refusalsBySender(minutes)
    .filter(isWanted)
    .reduce((sum, one) => sum + one.count, 0);
}

/** The first and the last minute with such a refusal. There is one. */
function extentOf(minutes: readonly Minute[], isWanted: Wanted) {
  const hits = minutes.filter((minute) => refusalsBySender([minute]).some(isWanted));
  return { firstMs: hits[0]?.atMs ?? 0, lastMs: hits.at(-1)?.atMs ?? 0 };
}

interface SumProps {
  readonly rows: readonly Row[];
  readonly isWanted: Wanted;
}

/** `464 requests, between 01:20 and 01:50`, with the day. */
function Sum({ rows, isWanted }: SumProps) {
  const minutes = rows.flatMap((row) => row.minutes).sort((one, other) => one.atMs - other.atMs);
  const requests = sumOf(minutes, isWanted);
  const { firstMs, lastMs } = extentOf(minutes, isWanted);
  return html`<p>${requests === 1 ? '1 request' : `${count(requests)} requests`}, between <span class="moment">${hourText(firstMs)}</span> and <span class="moment">${hourText(lastMs + minuteMs)}</span>.</p>`;
}

const pairsShown = 4;

/** Each pair leads to its hours. */
function bySender(view: HistoryView, isWanted: Wanted): Column<Row> {
  return {
    head: 'By client and code',
    cell: ({ minutes }) => {
      const all = refusalsBySender(minutes).filter(isWanted);
      const rest = all.slice(pairsShown).reduce((sum, one) => sum + one.count, 0);
      const shown = all.slice(0, pairsShown).map((pair) => Pair({ ...pair, hour: view.hour }));
      if (all.length === 0) return '–';
      return html`<ul class="pairs">${shown}${rest > 0 && html`<li class="quiet">${all.length - pairsShown} more: ${count(rest)}</li>`}</ul>`;
    },
  };
}

function Pair({ name, code, count: requests, hour }: SenderCode & Pick<HistoryView, 'hour'>) {
  const of = { ...(name !== null && { token: name }), code: `${code}`, hour };
  const who = name === null ? 'no known token' : html`<${ExactText} text=${name} isExcerpt />`;
  return html`<li><a class="own" href=${historyPath(of)} title=${problemTitle(code)}>${who} ${code}</a>:\u00a0${count(requests)}</li>`;
}

/** Whole minutes: `1 min`, `41 min`, `3 h`. */
function gapText(ms: number): string {
  return ms < 2 * minuteMs ? '1\u00a0min' : lengthText(ms / 1_000);
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
