import { limits } from '../../../limits.ts';
import type { Minute, Overview, Tally } from '../../contract.ts';
import { lastHour, refusalsByCode } from '../../history-figures.ts';
import { type Column, Table } from './components.ts';
import { clockTime, count } from './format.ts';
import { html } from './html.ts';
import { titleOf } from './refusal.ts';

const { minuteMs } = limits.history;

interface Outcome extends Tally {
  readonly name: string;
  readonly means: string;
}

const outcomeColumns: readonly Column<Outcome>[] = [
  { head: 'Outcome', cell: ({ name, means }) => html`${name} <span class="quiet">${means}</span>` },
  { head: 'Last minute', cell: ({ lastMinute }) => count(lastMinute), isNumber: true },
  { head: 'Since the start', cell: ({ total }) => count(total), isNumber: true },
];

const meanings = {
  created: 'a new plant',
  same: 'a retry',
  taken: 'the id belongs to another plant',
  failed: 'the store did not take the plant',
} as const;

const names = ['created', 'same', 'taken', 'failed'] as const;

/** Creates by outcome. */
export function Outcomes({ creates }: Pick<Overview, 'creates'>) {
  const rows = names.map((name) => ({ name, means: meanings[name], ...creates[name] }));
  return html`<${Table} caption="Creates by outcome" columns=${outcomeColumns} rows=${rows} rowKey=${({ name }: Outcome) => name} />`;
}

interface Refused extends Tally {
  readonly code: number;
  /** Of all services, in the minutes of the history. */
  readonly lastHour: number;
  readonly lastDay: number;
}

const codeColumns: readonly Column<Refused>[] = [
  {
    head: 'Code',
    cell: ({ code }) => html`<a href="#/refusals?code=${code}">${code} ${titleOf(code)}</a>`,
  },
  { head: 'Last minute', cell: ({ lastMinute }) => count(lastMinute), isNumber: true },
  { head: 'Last hour', cell: ({ lastHour }) => count(lastHour), isNumber: true },
  { head: '24 hours', cell: ({ lastDay }) => count(lastDay), isNumber: true },
  { head: 'Since the start', cell: ({ total }) => count(total), isNumber: true },
];

interface RefusedCodesProps extends Pick<Overview, 'refusals'> {
  readonly minutes: readonly Minute[];
}

/** Refusals by code: of this service now, and of all services in the last 24 hours. */
export function RefusedCodes({ refusals, minutes }: RefusedCodesProps) {
  const rows = rowsOf(refusals, minutes);
  if (rows.length === 0)
    return html`<p class="quiet">No request was refused in the last 24 hours.</p>`;
  const last = minutes.at(-1);
  return html`
    <${Table} caption="Refusals by code" columns=${codeColumns} rows=${rows} rowKey=${({ code }: Refused) => `${code}`} />
    ${last && html`<p class="quiet">The hour and the 24 hours count all services until ${clockTime(last.atMs + minuteMs).slice(0, 5)}, also before the start. The other columns count this service.</p>`}`;
}

function rowsOf(refusals: Overview['refusals'], minutes: readonly Minute[]): readonly Refused[] {
  const hour = countsOf(lastHour(minutes));
  const day = countsOf(minutes);
  const now = new Map(refusals.map((one) => [one.code, one]));
  const codes = [...new Set([...now.keys(), ...day.keys()])].sort();
  return codes.map((code) => ({
    ...{ code, total: 0, lastMinute: 0 },
    ...now.get(code),
    lastHour: hour.get(code) ?? 0,
    lastDay: day.get(code) ?? 0,
  }));
}

function countsOf(minutes: readonly Minute[]): ReadonlyMap<number, number> {
  return new Map(refusalsByCode(minutes).map(({ code, count }) => [code, count]));
}
